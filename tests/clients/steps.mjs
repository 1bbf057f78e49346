/* steps - what scripts of @jupyterlab/services share. Each is a table of steps and prints one line of
 * JSON: by step, {"value": what it saw} or {"error": a stack}; what is right is decided by the test
 * that runs it. Its one complication: ES modules do not heed NODE_PATH, so packages come by require.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
export const services = require('@jupyterlab/services');
export const WebSocket = require('ws');

export function settings(url, token, Socket = WebSocket) {
    return services.ServerConnection.makeSettings({
        baseUrl: url,
        wsUrl: url.replace('http', 'ws'),
        token,
        appendToken: true,
        WebSocket: Socket,
    });
}

/* One after the other, whatever came of those before; ends the process. */
export async function run(steps) {
    const seen = {};
    for (const [name, step] of Object.entries(steps)) {
        try {
            seen[name] = { value: await step() };
        } catch (error) {
            seen[name] = { error: String(error?.stack ?? error) };
        }
    }
    process.stdout.write(JSON.stringify(seen) + '\n', () => process.exit(0));
}
