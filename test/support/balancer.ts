import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '#embedded/child.js';
import { waitUntil } from '#embedded/wait-until.js';
import { freePort } from './free-port.js';
import { patient } from './patience.js';

interface BalancerOptions {
  /** URLs of the APIs on this machine; or their common port, resolved by name as in Docker. */
  readonly apis: readonly string[] | { readonly nameServer: number; readonly port: number };
  /** The PROXY protocol identifies the caller. */
  readonly acceptProxy?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it is ready; by default, when an API is. */
  readonly serves?: (port: number) => Promise<boolean>;
}

export interface TestBalancer {
  readonly port: number;
  readonly url: string;
  /** The number of APIs that get requests, by its metrics. */
  readyApis(): Promise<number>;
  /** The metrics for Prometheus. */
  metrics(): Promise<string>;
  /** The requests logged so far. */
  requests(): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

/**
 * HAProxy with the shipped configuration; only the addresses are changed. Throws with its log when it does not get
 * ready.
 */
export async function startBalancer({
  apis,
  acceptProxy,
  env,
  serves = isReady,
}: BalancerOptions): Promise<TestBalancer> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-balancer-'));
  const port = await freePort();
  const metricsPort = await freePort();
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, await shippedFile(port, metricsPort, acceptProxy === true, apis));
  const log = join(folder, 'haproxy.log');
  const child = await startChild({
    command: process.env['TEST_HAPROXY'] ?? 'haproxy',
    args: ['-db', '-f', file],
    deathSignal: 'SIGKILL',
    env: { PATH: process.env['PATH'], BALANCER_ADDRESS: '127.0.0.1', ...env },
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
  const metrics = async (): Promise<string> => await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    stop,
    metrics,
    readyApis: async () =>
      (await metrics().catch(() => '')).match(/^haproxy_server_status\{proxy="api",.*state="UP"\} 1$/gm)?.length ?? 0,
    requests: async () =>
      (await readFile(log, 'utf8'))
        .split('\n')
        .filter((line) => line.startsWith('{"time":'))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

async function isReady(port: number): Promise<boolean> {
  return (await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(patient(5_000)) })).ok;
}

async function shippedFile(
  port: number,
  metricsPort: number,
  acceptProxy: boolean,
  apis: BalancerOptions['apis'],
): Promise<string> {
  let text = await readFile('deploy/haproxy.cfg', 'utf8');
  const servers =
    'nameServer' in apis ? '' : apis.map((url, index) => `server api${index} ${new URL(url).host}`).join('\n    ');
  const changes: readonly (readonly [RegExp, string])[] = [
    [/:8080" v4v6$/m, `:${port}" v4v6${acceptProxy ? ' accept-proxy' : ''}`],
    [/:8404" v4v6$/m, `:${await freePort()}" v4v6`],
    [/:8405" v4v6$/m, `:${metricsPort}" v4v6`],
    ...('nameServer' in apis
      ? ([
          [/127\.0\.0\.11:53$/m, `127.0.0.1:${apis.nameServer}`],
          [/ api:8080 /g, ` api:${apis.port} `],
        ] as const)
      : ([[/server-template .*$/gm, servers]] as const)),
  ];
  for (const [from, to] of changes) {
    if (text.search(from) === -1) throw new Error(`deploy/haproxy.cfg has no ${from.source}`);
    text = text.replace(from, to);
  }
  return text;
}
