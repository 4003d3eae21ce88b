import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startChild, type Child } from '#embedded/child.js';
import type { EmbeddedService } from '#embedded/postgres.js';
import { findRedis } from '#embedded/redis-binary.js';
import { startRedis } from '#embedded/redis.js';
import { freePort } from './free-port.js';

const TOOLS = [resolve('node_modules', '.cache', 'darkroom')];
export const REDIS_PASSWORD = 'own-redis';

/** Redis servers of one test file, in their own folder. */
export class OwnRedis {
  private readonly children: Child[] = [];
  private readonly services: EmbeddedService[] = [];

  private constructor(readonly folder: string) {}

  static async open(): Promise<OwnRedis> {
    return new OwnRedis(await mkdtemp(join(tmpdir(), 'darkroom-redis-')));
  }

  /** A server with additional configuration lines. */
  async start(name: string, lines: readonly string[] = []): Promise<EmbeddedService> {
    const service = await startRedis({
      folder: join(this.folder, name),
      password: REDIS_PASSWORD,
      log: join(this.folder, `${name}.log`),
      lines,
      toolFolders: TOOLS,
      port: await freePort(),
      durable: false,
    });
    this.services.push(service);
    return service;
  }

  /** A Sentinel with this configuration file, which it rewrites. */
  async startSentinel(file: string): Promise<void> {
    const { command, env } = await findRedis({ toolFolders: TOOLS });
    const child = await startChild({
      command,
      args: [file, '--sentinel'],
      env: { ...process.env, ...env },
      cwd: this.folder,
      log: `${file}.log`,
      deathSignal: 'SIGKILL',
    });
    this.children.push(child);
  }

  async close(): Promise<void> {
    await Promise.all(this.children.map((child) => child.stop([['SIGKILL', 5_000]])));
    await Promise.all(this.services.map((service) => service.stop()));
    await rm(this.folder, { recursive: true, force: true });
  }
}
