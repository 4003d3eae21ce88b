import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '#embedded/child.js';
import { waitUntil } from '#embedded/wait-until.js';
import { freePort } from './free-port.js';

interface BalancerOptions {
  /** Of the APIs, on this machine. */
  readonly ports: readonly number[];
  /** The PROXY protocol says who calls. */
  readonly acceptProxy?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it serves already. */
  readonly serves: (port: number) => Promise<boolean>;
}

export interface TestBalancer {
  readonly port: number;
  stop(): Promise<void>;
}

/** HAProxy with the file that we ship, of which only the addresses are others. Throws with its log when it does not serve. */
export async function startBalancer({ ports, acceptProxy, env, serves }: BalancerOptions): Promise<TestBalancer> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-balancer-'));
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, await shippedFile(`127.0.0.1:${port}${acceptProxy === true ? ' accept-proxy' : ''}`, ports));
  const log = join(folder, 'haproxy.log');
  const child = await startChild({
    ...{ command: process.env['TEST_HAPROXY'] ?? 'haproxy', args: ['-db', '-f', file], deathSignal: 'SIGKILL' },
    env: { PATH: process.env['PATH'], SOURCE_CONNECTIONS: '400', SOURCE_REQUESTS: '2000', ...env },
    log,
  });
  const stop = async (): Promise<void> => {
    await child.stop([['SIGTERM', 10_000]]);
    await rm(folder, { recursive: true });
  };
  const up = await waitUntil(() => serves(port).catch(() => false), { timeoutMs: 60_000, everyMs: 500 });
  if (!up) {
    const said = await readFile(log, 'utf8');
    await stop();
    throw new Error(`HAProxy does not serve:\n${said}`);
  }
  return { port, stop };
}

async function shippedFile(address: string, ports: readonly number[]): Promise<string> {
  let text = await readFile('deploy/haproxy.cfg', 'utf8');
  const servers = ports.map((port, index) => `server api${index} 127.0.0.1:${port}`).join('\n    ');
  const changes: readonly (readonly [RegExp, string])[] = [
    [/bind :8080$/m, `bind ${address}`],
    [/bind :8404$/m, `bind 127.0.0.1:${await freePort()}`],
    [/server-template .*$/m, servers],
  ];
  for (const [from, to] of changes) {
    if (!from.test(text)) throw new Error(`deploy/haproxy.cfg has no ${from.source}`);
    text = text.replace(from, to);
  }
  return text;
}
