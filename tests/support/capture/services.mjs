// services - lets @jupyterlab/services talk to a Kernel Gateway through a tap, in both encodings.
//
// Usage: NODE_PATH=... node services.mjs URL FOLDER, with the URL of a Kernel Gateway without a token.
import path from 'node:path';
import { createRequire } from 'node:module';
import { Tap } from './tap.mjs';

// By require, which reads NODE_PATH.
const { KernelManager, ServerConnection } = createRequire(import.meta.url)('@jupyterlab/services');
const [base, folder] = process.argv.slice(2);

const BUFFERS = [Uint8Array.from({ length: 256 }, (_, i) => i).buffer, new ArrayBuffer(0)];
const CODE = [
  "import sys; print('to stdout \u20ac </script>'); print('to stderr', file=sys.stderr); 6 * 7",
  "display({'text/plain': 'one', 'application/json': {'n': 10**70}}, raw=True)",
  '1 / 0',
  "print('hello', input('name? '))",
  `from comm import create_comm
get_ipython().kernel.comm_manager.register_target('mirror', lambda comm, message: comm.on_msg(
    lambda m: comm.send(m['content']['data'], None, m['buffers'])))
create_comm(target_name='theirs', data={'x': 1}, buffers=[bytes(range(256)), b''])`,
];

async function run(kernel, code) {
  const future = kernel.requestExecute({ code, allow_stdin: true, stop_on_error: false });
  future.onStdin = (message) =>
    kernel.sendInputReply({ status: 'ok', value: 'Ada' }, message.header);
  await future.done;
}

async function mirror(kernel) {
  const comm = kernel.createComm('mirror');
  await comm.open({ hello: true }).done;
  const answered = new Promise((resolve) => (comm.onMsg = resolve));
  comm.send({ back: true }, {}, BUFFERS);
  await answered;
  await comm.close().done;
}

async function talk(mode) {
  const tap = new Tap(mode, path.join(folder, mode), base.replace(/^http/, 'ws'));
  const serverSettings = ServerConnection.makeSettings({ baseUrl: base, wsUrl: await tap.url() });
  const manager = new KernelManager({ serverSettings });
  await manager.ready;
  const kernel = await manager.startNew({ name: 'python3' });
  await kernel.info;
  kernel.registerCommTarget('theirs', () => undefined);
  for (const code of CODE) {
    await run(kernel, code);
  }
  await kernel.requestComplete({ code: 'pri', cursor_pos: 3 });
  await mirror(kernel);
  await kernel.requestDebug({ type: 'request', command: 'debugInfo', seq: 1 }, true).done;
  await kernel.shutdown();
  manager.dispose();
  tap.close();
}

await talk('v1');
await talk('legacy');
process.exit(0);
