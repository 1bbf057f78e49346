/* sessions - @jupyterlab/services' sessions, kernelspecs and user against a server:
 * `node sessions.mjs URL TOKEN`, read by test_services_sessions.py. Its one complication: UserManager
 * keeps colours in a browser's local storage, of which it finds an empty one. */
import { run, services, settings } from './steps.mjs';

const { KernelAPI, KernelManager, KernelSpecManager, SessionAPI, SessionManager, UserManager } = services;

globalThis.window = { localStorage: { getItem: () => null, setItem: () => {} } };

const [, , url, token] = process.argv;
const serverSettings = settings(url, token);
const PATH = 'folder/ünï 1.ipynb';
const kernelManager = new KernelManager({ serverSettings });
const manager = new SessionManager({ serverSettings, kernelManager });
let session;

/* What a cell printed, in a session. */
async function printed(of, code) {
    const future = of.kernel.requestExecute({ code });
    let text = '';
    future.onIOPub = ({ content }) => { text += content.text ?? ''; };
    await future.done;
    return text;
}

/* What the server says of the session, in the words of its model. */
async function told() {
    const { id, path, name, type, kernel } = await SessionAPI.getSessionModel(session.id, serverSettings);
    return { same: id === session.id, path, name, type, kernel: kernel.id === session.kernel.id };
}

async function kernelIds() {
    return (await KernelAPI.listRunning(serverSettings)).map(({ id }) => id);
}

const steps = {
    async kernelspecs() {
        const specs = new KernelSpecManager({ serverSettings });
        await specs.ready;
        return { default: specs.specs.default, names: Object.keys(specs.specs.kernelspecs) };
    },
    async user() {
        const users = new UserManager({ serverSettings });
        await users.ready;
        return { identity: users.identity, permissions: users.permissions };
    },
    async start() {
        await manager.ready;
        session = await manager.startNew(
            { path: PATH, type: 'notebook', name: 'one', kernel: { name: 'python3' } });
        const text = await printed(session, 'kept = 1; print("hello")');
        return { path: session.path, name: session.name, type: session.type, text };
    },
    async again() {
        const other = await SessionAPI.startSession(
            { path: PATH, type: 'notebook', name: 'two', kernel: { name: 'none' } }, serverSettings);
        return { session: other.id === session.id, kernel: other.kernel.id === session.kernel.id };
    },
    async connect() {
        const model = await manager.findByPath(PATH);
        const other = manager.connectTo({ model });
        const text = await printed(other, 'print(kept)');
        other.dispose();
        return { text, found: (await manager.findById(session.id)).id === session.id };
    },
    async running() {
        await manager.refreshRunning();
        return [...manager.running()].map(({ path }) => path);
    },
    async rename() {
        await session.setPath('b.py');
        await session.setName('b');
        await session.setType('console');
        return await told();
    },
    async change_kernel_by_name() {
        const before = session.kernel.id;
        await session.changeKernel({ name: 'python3' });
        const text = await printed(session, 'print("kept" in globals())');
        return { text, ...await told(), gone: !(await kernelIds()).includes(before) };
    },
    async change_kernel_by_id() {
        const before = session.kernel.id;
        const other = await kernelManager.startNew({ name: 'python3' });
        await session.changeKernel({ id: other.id });
        const text = await printed(session, 'print("there")');
        return { text, ...await told(), gone: !(await kernelIds()).includes(before) };
    },
    async unknown_kernel() {
        try {
            await manager.startNew(
                { path: 'c', type: 'notebook', name: '', kernel: { name: 'none' } });
        } catch (error) {
            return { status: error.response.status, message: error.message };
        }
    },
    async shutdown() {
        const { id } = session.kernel;
        await session.shutdown();
        await manager.refreshRunning();
        return { disposed: session.isDisposed, left: [...manager.running()].length,
                 kernel: (await kernelIds()).includes(id) };
    },
    async kernel_goes_first() {
        const model = await SessionAPI.startSession(
            { path: 'd', type: 'notebook', name: '', kernel: {} }, serverSettings);
        await KernelAPI.shutdownKernel(model.kernel.id, serverSettings);
        try {
            await SessionAPI.shutdownSession(model.id, serverSettings);
        } catch (error) {
            return { status: error.response.status, message: error.message };
        }
    },
};

await run(steps);
