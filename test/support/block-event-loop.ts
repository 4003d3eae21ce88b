import { once } from 'node:events';
import { WebSocket } from 'undici';
import { waitUntil } from '#embedded/wait-until.js';
import type { TestProcess } from './processes.js';

/** Set for every process whose event loop a test blocks. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

const ADDRESS = /Debugger listening on (ws:\S+)/;

/**
 * Blocks the event loop of a process for `ms`, like a runaway computation: the process is not frozen, but no
 * timer fires, nothing is read, and data already sent goes out. Uses no CPU, which would slow down everything else on
 * the machine. Resolves when the process runs again, or has ended.
 */
export async function blockEventLoop(victim: TestProcess, ms: number): Promise<void> {
  const address = (): string | undefined => ADDRESS.exec(victim.output())?.[1];
  if (!(await waitUntil(() => address() !== undefined, { timeoutMs: 30_000 }))) throw new Error('it is not INSPECTED');
  const socket = new WebSocket(address() as string);
  const closed = once(socket as never, 'close');
  socket.addEventListener('error', () => undefined);
  socket.addEventListener('open', () => {
    const expression = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${ms})`;
    socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } }));
  });
  socket.addEventListener('message', () => {
    socket.close();
  });
  await closed;
}
