// tap - a WebSocket server on a port of its own that passes every message on to another server, and
// writes each to a folder. mode "v1" agrees on the subprotocol on both sides, "legacy" on none.
// Files are NUMBER-SENDER-CHANNEL-TYPE.frame (binary messages) or .json (text messages). Of messages
// that are alike (sender, channel, type, with buffers or not) the first stays.
//
// Usage by itself: NODE_PATH=... node tap.mjs MODE FOLDER URL; prints its own URL, ends with stdin.
import fs from 'node:fs';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

// By require, which reads NODE_PATH.
const { WebSocket, WebSocketServer } = createRequire(import.meta.url)('ws');

const SUBPROTOCOL = 'v1.kernel.websocket.jupyter.org';

// What a message says of itself, by the layouts of both encodings.
function read(data, isBinary, mode) {
  if (!isBinary) {
    const message = JSON.parse(data.toString());
    return { channel: message.channel ?? 'none', type: message.header.msg_type, buffers: 0 };
  }
  if (mode === 'legacy') {
    const count = data.readUInt32BE(0);
    const end = count > 1 ? data.readUInt32BE(8) : data.length;
    const message = JSON.parse(data.subarray(data.readUInt32BE(4), end).toString());
    return { channel: message.channel, type: message.header.msg_type, buffers: count - 1 };
  }
  const count = Number(data.readBigUInt64LE(0));
  const offset = (i) => Number(data.readBigUInt64LE(8 * (i + 1)));
  const segment = (i) => data.subarray(offset(i), offset(i + 1)).toString();
  return { channel: segment(0), type: JSON.parse(segment(1)).msg_type, buffers: count - 6 };
}

export class Tap {
  constructor(mode, folder, upstream) {
    this.mode = mode;
    this.folder = folder;
    this.upstream = upstream;
    this.seen = new Set();
    fs.mkdirSync(folder, { recursive: true });
    this.server = new WebSocketServer({
      port: 0,
      host: '127.0.0.1',
      perMessageDeflate: false,
      handleProtocols: () => (mode === 'v1' ? SUBPROTOCOL : false),
      // A client waits for its handshake until the server behind has answered ours.
      verifyClient: ({ req }, done) => this.connect(req, done),
    });
    this.server.on('connection', (client, request) => this.relay(client, request.upstream));
  }

  // The URL to connect to, once it listens.
  async url() {
    if (!this.server.address()) {
      await once(this.server, 'listening');
    }
    return `ws://127.0.0.1:${this.server.address().port}/`;
  }

  connect(request, done) {
    const protocols = this.mode === 'v1' ? [SUBPROTOCOL] : [];
    request.upstream = new WebSocket(new URL(request.url, this.upstream), protocols, {
      perMessageDeflate: false,
      maxPayload: 1 << 28,
    });
    request.upstream.once('open', () => {
      request.upstream.pause(); // until both sides are there
      done(true);
    });
    request.upstream.once('error', () => done(false, 502));
  }

  relay(client, server) {
    client.on('message', (data, isBinary) => {
      this.write('client', data, isBinary);
      server.send(data, { binary: isBinary });
    });
    server.on('message', (data, isBinary) => {
      this.write('server', data, isBinary);
      client.send(data, { binary: isBinary });
    });
    client.on('close', () => server.close());
    server.on('close', () => client.close());
    server.resume();
  }

  write(sender, data, isBinary) {
    const { channel, type, buffers } = read(data, isBinary, this.mode);
    const name = `${sender}-${channel}-${type}${buffers ? '-buffers' : ''}`;
    if (this.seen.has(name)) {
      return;
    }
    this.seen.add(name);
    const number = String(this.seen.size).padStart(2, '0');
    const file = `${number}-${name}.${isBinary ? 'frame' : 'json'}`;
    fs.writeFileSync(path.join(this.folder, file), data);
  }

  close() {
    this.server.clients.forEach((client) => client.terminate());
    this.server.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const tap = new Tap(...process.argv.slice(2));
  console.log(await tap.url());
  process.stdin.resume().on('end', () => process.exit(0));
}
