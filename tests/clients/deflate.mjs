// deflate - one request over `ws`, which offers permessage-deflate by itself: node deflate.mjs URL
// MESSAGE. Writes {extensions, text} as JSON.
import { createRequire } from "node:module";

const WebSocket = createRequire(import.meta.url)("ws"); // imports do not look in NODE_PATH

const [url, request] = process.argv.slice(2);
const { msg_id } = JSON.parse(request).header;
const socket = new WebSocket(url);
let text = "";

socket.on("open", () => socket.send(request));
socket.on("message", (data) => {
  const message = JSON.parse(data);
  if (message.parent_header?.msg_id !== msg_id) return;
  text += message.content.text ?? "";
  if (message.content.execution_state !== "idle") return;
  console.log(JSON.stringify({ extensions: socket.extensions, text }));
  socket.close();
});
