import { resolve } from 'node:path';
import { writeWhole, remove, type DataFolder } from './data-folder.js';
import type { DataLock } from './data-lock.js';
import type { StandaloneConfig } from './standalone.config.js';
import { firstFailure, startRole, type Role } from './role-process.js';
import type { Services } from './services.js';
import type { StopSignals } from './stop-signals.js';
import { Supervised, type Running } from './supervised.js';

interface Settings {
  /** The environment of this process, passed on to its children. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly port: number;
  readonly apiKey: string;
  readonly secretKey: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

/** All processes of the product, and the state file that scripts and commands read. */
export class Product {
  services: Services | undefined;
  private readonly roles: { readonly role: Role; readonly process: Supervised; readonly first: Running }[] = [];
  private settings: Settings | undefined;
  private published = false;

  constructor(
    private readonly config: StandaloneConfig,
    private readonly folder: DataFolder,
    private readonly lock: DataLock,
    private readonly say: (line: string) => void,
  ) {}

  /** The API's address on this machine. */
  get url(): string {
    const { host } = this.config;
    const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
    return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${this.settings?.port ?? this.config.port}`;
  }

  /** Starts the API and the workers without waiting until they are ready. */
  async startRoles(settings: Settings, { force: hurry }: StopSignals): Promise<void> {
    this.settings = settings;
    const names: (readonly [Role, string, number])[] = [['api', 'the API', -1]];
    for (let index = 0; index < this.config.workers; index++)
      names.push(['worker', this.config.workers === 1 ? 'the worker' : `worker ${index + 1}`, index]);
    for (const [role, name, index] of names) {
      const log = this.folder.log(role);
      const process = new Supervised({
        name,
        log,
        start: () => startRole(role, { env: this.environment(settings, index), log, force: hurry }),
        onChange: this.changed,
        say: this.say,
      });
      this.roles.push({ role, process, first: await process.start() });
    }
  }

  /** Rejects when the API or a worker ends before watch() is called. */
  firstFailure(): Promise<never> {
    return firstFailure(this.roles.map(({ role, first }) => [role, first] as const));
  }

  /** Restarts crashed processes from now on, and writes the state file. */
  watch(): void {
    this.published = true;
    this.changed();
    for (const supervised of this.all()) supervised.watch();
  }

  /** Restarts the API and the workers one after the other, for a new build. */
  async restartRoles(): Promise<void> {
    for (const { process } of this.roles) await process.restart();
  }

  /** Stops the API and the workers, then the services they use. */
  async stop(): Promise<void> {
    await Promise.all(this.roles.map(({ process }) => process.stop()));
    await Promise.all([this.services?.postgres?.stop(), this.services?.redis?.stop()]);
    this.published = false;
    remove(this.folder.state);
  }

  /** Must be called whenever a process id has changed. */
  readonly changed = (): void => {
    const pids = this.all().flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
    void this.lock.remember(pids);
    if (this.published && this.settings !== undefined) writeWhole(this.folder.state, this.state(this.settings));
  };

  private all(): Supervised[] {
    const services = [this.services?.postgres, this.services?.redis].filter((service) => service !== undefined);
    return [...services, ...this.roles.map(({ process }) => process)];
  }

  private state({ apiKey, databaseUrl, redisUrl }: Settings): object {
    const pids = (role: Role): (number | undefined)[] =>
      this.roles.filter((entry) => entry.role === role).map(({ process }) => process.pid);
    return {
      url: this.url,
      apiKey,
      databaseUrl,
      redisUrl,
      modelsFile: this.config.modelsFile === undefined ? undefined : resolve(this.config.modelsFile),
      pids: {
        api: pids('api'),
        worker: pids('worker'),
        redis: this.services?.redis?.pid ?? null,
        postgres: this.services?.postgres?.pid ?? null,
      },
    };
  }

  /** `index`: number of the worker, from 0; -1 for the API. */
  private environment(settings: Settings, index: number): Record<string, string | undefined> {
    const { host, publicUrl, workerHealthPort, metricsPort } = this.config;
    return {
      ...settings.env,
      PORT: String(settings.port),
      HOST: host,
      PUBLIC_URL: publicUrl ?? this.url,
      DATA_DIR: this.folder.path,
      DATABASE_URL: settings.databaseUrl,
      REDIS_URL: settings.redisUrl,
      SECRET_KEY: settings.secretKey,
      ...(workerHealthPort === 0 ? {} : { WORKER_HEALTH_PORT: String(workerHealthPort + index) }),
      ...(metricsPort === 0 ? {} : { METRICS_PORT: String(metricsPort + 1 + index) }),
    };
  }
}
