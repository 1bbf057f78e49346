/* services - @jupyterlab/services' kernels against a server: `node services.mjs URL TOKEN v1|legacy`,
 * read by test_services.py. */
import { run as runSteps, services, settings, WebSocket } from './steps.mjs';

const { KernelManager, KernelSpecAPI } = services;

/* A server that knows no subprotocol leaves the client with the older encoding. */
class LegacyWebSocket extends WebSocket {
    constructor(url) {
        super(url);
    }
}

const [, , url, token, protocol] = process.argv;
const serverSettings = settings(url, token, protocol === 'legacy' ? LegacyWebSocket : WebSocket);

const ECHO_COMM = `
from comm import get_comm_manager
def opened(comm, message):
    comm.on_msg(lambda m: comm.send(m['content']['data'], buffers=m['buffers'][::-1]))
get_comm_manager().register_target('echo', opened)
`;

/* Everything that came of one cell. */
async function run(kernel, code, { onMessage = () => {}, onStdin = () => {} } = {}) {
    const future = kernel.requestExecute({ code, allow_stdin: true });
    const messages = [];
    future.onIOPub = message => {
        const { msg_type: kind } = message.header;
        messages.push([kind, message.content]);
        onMessage(kind, message.content);
    };
    future.onStdin = onStdin;
    const reply = await future.done;
    return { status: reply.content.status, ename: reply.content.ename ?? null,
             evalue: reply.content.evalue ?? null, messages };
}

function text({ messages }) {
    const streams = messages.filter(([kind, content]) => kind === 'stream' && content.name === 'stdout');
    const results = messages.filter(([kind]) => kind === 'execute_result');
    return streams.map(([, content]) => content.text).join('') +
        results.map(([, content]) => content.data['text/plain']).join('');
}

function statusBecomes(kernel, wanted) {
    return new Promise(resolve => {
        const look = () => {
            if (kernel.status === wanted) {
                kernel.statusChanged.disconnect(look);
                resolve(wanted);
            }
        };
        kernel.statusChanged.connect(look);
        look();
    });
}

let manager;
let kernel;

const steps = {
    async kernelspecs() {
        const specs = await KernelSpecAPI.getSpecs(serverSettings);
        return { default: specs.default, python3: specs.kernelspecs.python3?.language };
    },
    async start() {
        manager = new KernelManager({ serverSettings });
        await manager.ready;
        kernel = await manager.startNew({ name: 'python3' });
        const info = await kernel.info;
        return { implementation: info.implementation, connection: kernel.connectionStatus,
                 protocol: kernel._ws.protocol };
    },
    async execute() {
        return await run(kernel, 'import sys\nprint("out")\nprint("err", file=sys.stderr)\n6 * 7');
    },
    async statuses() {
        const seen = [];
        const note = (_, status) => seen.push(status);
        await statusBecomes(kernel, 'idle');
        kernel.statusChanged.connect(note);
        await run(kernel, '1');
        await statusBecomes(kernel, 'idle');
        kernel.statusChanged.disconnect(note);
        return seen;
    },
    async error() {
        return await run(kernel, '1 / 0');
    },
    async requests() {
        const complete = await kernel.requestComplete({ code: 'zi', cursor_pos: 2 });
        const inspect = await kernel.requestInspect({ code: 'zip', cursor_pos: 3, detail_level: 0 });
        const isComplete = await kernel.requestIsComplete({ code: 'for x in y:' });
        const history = await kernel.requestHistory(
            { hist_access_type: 'tail', n: 1, output: false, raw: true });
        const commInfo = await kernel.requestCommInfo({});
        return [complete, inspect, isComplete, history, commInfo].map(m => m.content.status);
    },
    async input() {
        const onStdin = message =>
            kernel.sendInputReply({ status: 'ok', value: 'ada' }, message.header);
        return text(await run(kernel, 'print(input("name? ") * 2)', { onStdin }));
    },
    async interrupt() {
        const onMessage = kind => kind === 'stream' && kernel.interrupt();
        const ended = await run(kernel, 'print("on", flush=True)\nwhile True: pass', { onMessage });
        const after = await run(kernel, 'print("goes on")');
        return { ename: ended.ename, after: text(after) };
    },
    async comm() {
        await run(kernel, ECHO_COMM);
        const comm = kernel.createComm('echo');
        const echoed = new Promise(resolve => { comm.onMsg = resolve; });
        await comm.open({}).done;
        const sent = [new Uint8Array([]), new Uint8Array([0, 255]),
                      new Uint8Array(1 << 20).map((_, n) => n)];
        comm.send({ n: 1 }, {}, sent.map(array => array.buffer));
        const { buffers, content } = await echoed;
        const back = buffers.map(buffer => Buffer.from(buffer.buffer ?? buffer, buffer.byteOffset ?? 0,
                                                      buffer.byteLength)).reverse();
        return { data: content.data, equal: back.map((b, n) => b.equals(Buffer.from(sent[n]))) };
    },
    async second_connection() {
        const other = manager.connectTo({ model: kernel.model });
        const heard = [];
        await other.info;
        other.iopubMessage.connect((_, message) => heard.push(message.header.msg_type));
        other.anyMessage.connect(() => {});
        await run(kernel, 'print("for all")');
        const value = text(await run(other, 'print("from the other")'));
        other.dispose();
        return { heard: heard.includes('stream'), value };
    },
    async running() {
        await manager.refreshRunning();
        return [...manager.running()].map(model => model.id).includes(kernel.id);
    },
    async restart() {
        const { id } = kernel;
        await run(kernel, 'kept = 1\nopen("kept.txt", "w").write("still here")');
        await kernel.restart();
        const gone = await run(kernel, 'print("kept" in globals(), open("kept.txt").read())');
        return { same: kernel.id === id, text: text(gone), status: await statusBecomes(kernel, 'idle') };
    },
    /* The server starts it again, this client connects anew, and goes on. */
    async death() {
        const dying = await manager.startNew({ name: 'python3' });
        const restarting = statusBecomes(dying, 'autorestarting');
        const { status, ename, evalue } = await run(dying, 'import os\nos.kill(os.getpid(), 9)');
        await restarting;
        const after = text(await run(dying, 'print("os" in globals())'));
        const state = await statusBecomes(dying, 'idle');
        await dying.shutdown();
        return { status, reason: `${ename}: ${evalue}`, after, state };
    },
    async shutdown() {
        const { id } = kernel;
        await kernel.shutdown();
        await manager.refreshRunning();
        const left = [...manager.running()].map(model => model.id).includes(id);
        manager.dispose();
        return { left, status: kernel.status, disposed: kernel.isDisposed };
    },
};

await runSteps(steps);
