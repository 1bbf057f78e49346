// decode - reads legacy WebSocket messages as @jupyterlab/services does, and validates them likewise.
// Usage: node decode.cjs FILE...; prints {name: message} with buffers in hex, or {name: {invalid}}.
const fs = require('node:fs');
const path = require('node:path');
const { deserialize } = require('@jupyterlab/services/lib/kernel/serialize');
const { validateMessage } = require('@jupyterlab/services/lib/kernel/validate');

function decode(file) {
  const data = fs.readFileSync(file);
  const isText = file.endsWith('.json');
  const copy = data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
  const message = deserialize(isText ? data.toString() : copy, '');
  try {
    validateMessage(message);
  } catch (error) {
    return { invalid: error.message };
  }
  const hex = (view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('hex');
  return { ...message, buffers: message.buffers.map(hex) };
}

const files = process.argv.slice(2);
const found = files.map((file) => [path.basename(file), decode(file)]);
process.stdout.write(JSON.stringify(Object.fromEntries(found)));
