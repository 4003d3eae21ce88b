import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { migrate } from '#database/migrate.js';
import { freePort } from './free-port.js';
import { startPostgres, type EmbeddedService } from '#embedded/postgres.js';
import { startRedis } from '#embedded/redis.js';
import { createKey } from './access.js';
import { startAudit } from './audit.js';
import { FaultProxy, type Fault } from './fault-proxy.js';
import { patient } from './patience.js';
import { startApi, startWorker, type TestProcess } from './processes.js';

export type LinkName = 'postgres' | 'redis' | 's3' | 'provider';

export interface FaultRoomOptions {
  readonly apis?: number;
  readonly workers?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** Settings with a URL that every process reaches through its own proxy, by link. */
  readonly links?: Readonly<Partial<Record<'s3' | 'provider', LinkTarget>>>;
}

interface LinkTarget {
  readonly setting: string;
  readonly url: string;
  /** For a setting that names a file: its content for the URL. */
  readonly file?: (url: string) => string;
}

const PASSWORD = 'faultroom0password';
const SECRET_KEY = 'faults-5d0e7c41b9a34f6fa1e2'.padEnd(40, 'y');

/** An API or a worker with its links to the services; each link can fail on its own. */
export class Member {
  process: TestProcess | undefined;
  /** Exits that no test asked for. */
  readonly surprises: string[] = [];
  /** All processes of this member so far. */
  readonly lives: TestProcess[] = [];

  constructor(
    readonly name: string,
    readonly app: 'api' | 'worker',
    readonly links: ReadonlyMap<LinkName, FaultProxy>,
    readonly settings: Readonly<Record<string, string>>,
    /** The proxy in front of an API, for its callers. */
    readonly door: FaultProxy | undefined,
  ) {}

  get url(): string {
    return this.door?.url ?? '';
  }

  /** Starts it, optionally with other settings. Throws when it is not ready within a minute. */
  async start(changes: Readonly<Record<string, string>> = {}): Promise<TestProcess> {
    const start = this.app === 'api' ? startApi : startWorker;
    const started = await start({ ...this.settings, ...changes });
    this.process = started;
    this.lives.push(started);
    void started.exited.then((exit) => {
      if (this.process === started) this.surprises.push(`${this.name} ended: ${JSON.stringify(exit)}`);
    });
    return started;
  }

  get running(): TestProcess {
    if (this.process === undefined) throw new Error(`${this.name} is not running`);
    return this.process;
  }

  async kill(): Promise<void> {
    const killed = this.running;
    this.process = undefined;
    killed.kill('SIGKILL');
    await killed.exited;
  }

  async stop(): Promise<{ code: number | null }> {
    const stopped = this.running;
    this.process = undefined;
    return await stopped.stop();
  }

  freeze(): void {
    this.running.kill('SIGSTOP');
  }

  thaw(): void {
    this.running.kill('SIGCONT');
  }

  link(name: LinkName): FaultProxy {
    const proxy = this.links.get(name);
    if (proxy === undefined) throw new Error(`${this.name} has no link to ${name}`);
    return proxy;
  }
}

/** APIs and workers on their own Postgres and Redis, which can be killed; every link between them can fail. */
export class FaultRoom {
  readonly members: Member[] = [];
  key = '';

  private constructor(
    private readonly folder: string,
    public postgres: EmbeddedService,
    public redis: EmbeddedService,
    /** Bypasses all proxies. */
    readonly pool: pg.Pool,
    readonly settings: Readonly<Record<string, string>>,
  ) {}

  static async open(options: FaultRoomOptions = {}): Promise<FaultRoom> {
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-faults-'));
    const [postgres, redis] = await Promise.all([openPostgres(folder), openRedis(folder)]);
    await migrate(postgres.url, resolve('prisma', 'migrations'));
    const pool = new pg.Pool({
      connectionString: postgres.url,
      max: 3,
      connectionTimeoutMillis: patient(60_000),
      query_timeout: patient(60_000),
    });
    pool.on('error', () => undefined);
    await startAudit(pool);
    const settings = {
      DATA_DIR: join(folder, 'data'),
      SECRET_KEY,
      REDIS_PREFIX: '{faults}',
      MAX_TASKS_IN_FLIGHT: '0',
      RATE_SUBMITS_PER_MINUTE: '0',
      RATE_POLLS_PER_MINUTE: '0',
      ...options.settings,
    };
    const room = new FaultRoom(folder, postgres, redis, pool, settings);
    room.key = await room.newKey('faults');
    for (let n = 1; n <= (options.apis ?? 1); n++) await room.add('api', `api ${n}`, options.links);
    for (let n = 1; n <= (options.workers ?? 1); n++) await room.add('worker', `worker ${n}`, options.links);
    await Promise.all(room.members.map((member) => member.start()));
    return room;
  }

  get apis(): Member[] {
    return this.members.filter(({ app }) => app === 'api');
  }

  get workers(): Member[] {
    return this.members.filter(({ app }) => app === 'worker');
  }

  /** The first API. */
  get api(): Member {
    return this.members.find(({ app }) => app === 'api') as Member;
  }

  get worker(): Member {
    return this.members.find(({ app }) => app === 'worker') as Member;
  }

  async newKey(name: string, accountId?: string): Promise<string> {
    if (accountId !== undefined) {
      await this.pool.query('INSERT INTO accounts (id, name) VALUES ($1, $1) ON CONFLICT DO NOTHING', [accountId]);
    }
    return (await createKey(this.pool, SECRET_KEY, { name, accountId })).key;
  }

  /** Sets a fault on the links of all members to one service. */
  breakLinks(link: LinkName, fault: Fault): void {
    for (const member of this.members) member.link(link).fault = fault;
  }

  async killRedis(): Promise<void> {
    await kill(this.redis);
  }

  /** Restarts it on the same port and files; `lost`: without its data. */
  async restartRedis(lost = false): Promise<void> {
    if (lost) await rm(join(this.folder, 'redis', 'appendonlydir'), { recursive: true, force: true });
    this.redis = await openRedis(this.folder, this.redis.port);
  }

  async killPostgres(): Promise<void> {
    await kill(this.postgres);
  }

  async restartPostgres(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        this.postgres = await openPostgres(this.folder, this.postgres.port);
        return;
      } catch (error) {
        // Children of the killed server keep its shared memory until they notice.
        if (tries === 20) throw error;
      }
    }
  }

  /** The output of all processes so far. */
  output(): string {
    return this.members.flatMap(({ lives }) => lives.map((life) => life.output())).join('\n');
  }

  async close(): Promise<void> {
    const proxies = this.members.flatMap(({ links, door }) => [
      ...links.values(),
      ...(door === undefined ? [] : [door]),
    ]);
    for (const proxy of proxies) proxy.fault = 'pass';
    await Promise.all(this.members.filter((member) => member.process !== undefined).map((member) => member.stop()));
    await this.pool.end();
    await Promise.all(proxies.map((proxy) => proxy.close()));
    await Promise.all([this.postgres.stop(), this.redis.stop()]);
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private async add(app: Member['app'], name: string, links: FaultRoomOptions['links'] = {}): Promise<void> {
    const postgres = await FaultProxy.start(this.postgres.url);
    const redis = await FaultProxy.start(this.redis.url);
    const proxies = new Map<LinkName, FaultProxy>([
      ['postgres', postgres],
      ['redis', redis],
    ]);
    const settings: Record<string, string> = { ...this.settings, DATABASE_URL: postgres.url, REDIS_URL: redis.url };
    for (const link of ['s3', 'provider'] as const) {
      const target = links[link];
      if (target === undefined) continue;
      const proxy = await FaultProxy.start(target.url);
      proxies.set(link, proxy);
      settings[target.setting] = proxy.url;
      if (target.file === undefined) continue;
      settings[target.setting] = join(this.folder, `${target.setting}-${this.members.length}`);
      await writeFile(settings[target.setting] as string, target.file(proxy.url));
    }
    if (app === 'worker') return void this.members.push(new Member(name, app, proxies, settings, undefined));
    const port = await freePort();
    const metricsPort = await freePort();
    const door = await FaultProxy.start(`http://127.0.0.1:${port}`);
    const address = { PORT: String(port), PUBLIC_URL: door.url, METRICS_PORT: String(metricsPort) };
    this.members.push(new Member(name, app, proxies, { ...settings, ...address }, door));
  }
}

function openPostgres(folder: string, port?: number): Promise<EmbeddedService> {
  return startPostgres({
    folder: join(folder, 'postgres'),
    password: PASSWORD,
    database: 'darkroom',
    log: join(folder, 'postgres.log'),
    port,
  });
}

function openRedis(folder: string, port?: number): Promise<EmbeddedService> {
  return startRedis({
    folder: join(folder, 'redis'),
    password: PASSWORD,
    log: join(folder, 'redis.log'),
    toolFolders: [resolve('node_modules', '.cache', 'darkroom')],
    port,
  });
}

/** A crash: no clean-up, no last message. */
async function kill(service: EmbeddedService): Promise<void> {
  process.kill(service.pid, 'SIGKILL');
  await service.exited;
}
