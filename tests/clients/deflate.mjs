/* deflate - one request over `ws`, which offers permessage-deflate by itself: `node deflate.mjs URL
 * MESSAGE`. Prints {"extensions", "text"}; what is right is decided by test_deflate.py. */
import { createRequire } from 'node:module';

const WebSocket = createRequire(import.meta.url)('ws');

const [, , url, request] = process.argv;
const { msg_id: msgId } = JSON.parse(request).header;
const socket = new WebSocket(url);
let text = '';

socket.on('open', () => socket.send(request));
socket.on('message', (data) => {
    const message = JSON.parse(data);
    if (message.parent_header?.msg_id !== msgId) return;
    text += message.content.text ?? '';
    if (message.content.execution_state !== 'idle') return;
    console.log(JSON.stringify({ extensions: socket.extensions, text }));
    socket.close();
});
