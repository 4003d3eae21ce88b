import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import type { ImageProvider } from '#providers/image-provider.js';
import type { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import { CallCounter } from '#routing/call-counter.js';
import { CallHistory } from '#routing/call-history.js';
import type { CallOutcome } from '#routing/call-permit.js';
import type { ProviderLimiter } from '#routing/provider-limiter.js';
import type { ObjectStore } from '#storage/object-store.js';
import { EraseTasks } from '#erasure/erase-tasks.js';
import { DropInputs } from '#tasks/retention/drop-inputs.js';
import { DeletedTasks } from '#tasks/states/deleted-tasks.js';
import { TaskEnds } from '#tasks/states/task-ends.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { TaskPartials } from '#tasks/states/task-partials.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { Metrics } from '#telemetry/metrics.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { CallProvider } from '../../apps/worker/src/images/call-provider.js';
import { LeaveTask } from '../../apps/worker/src/images/leave-task.js';
import { Leases } from '../../apps/worker/src/images/leases.js';
import { LoadInputs } from '../../apps/worker/src/images/load-inputs.js';
import { OrderImage } from '../../apps/worker/src/images/order-image.js';
import { ProviderStarts } from '../../apps/worker/src/images/provider-starts.js';
import { RunTask } from '../../apps/worker/src/images/run-task.js';
import { ServiceReport } from '../../apps/worker/src/images/service-report.js';
import { SettleAttempt } from '../../apps/worker/src/images/settle-attempt.js';
import { ShutdownGrace } from '../../apps/worker/src/providers/shutdown-grace.js';
import { StoreResults } from '../../apps/worker/src/images/store-results.js';
import { TaskMemory } from '../../apps/worker/src/images/task-memory.js';
import { TaskMeter } from '../../apps/worker/src/images/task-meter.js';
import { TaskProgress } from '../../apps/worker/src/images/task-progress.js';
import { WorkerConfig } from '../../apps/worker/src/worker.config.js';
import type { TaskRoom } from './task-room.js';

/** What a worker needs of the limiter. */
export type CallLimiter = Pick<ProviderLimiter, 'enter'>;

/** A permit for an option, which tells how it ended, or for how long it was parked. */
export function permitted<Option>(option: Option, tell: (how: CallOutcome | number) => void) {
  return { option, end: (outcome: CallOutcome) => tell(outcome), park: (ms: number) => tell(ms) };
}

/** Permits every call. */
export const OPEN_LIMITER: CallLimiter = {
  enter: ([option]) => Promise.resolve(permitted(option!, () => undefined)),
};

interface WorkerParts {
  readonly store: ObjectStore;
  readonly registry: ProviderRegistry;
  readonly limiter?: CallLimiter;
  /** Milliseconds, as a setting. */
  readonly leaseMs?: string;
  readonly provenance?: 'on' | 'off';
  /** Shared by several tasks, like in a process. */
  readonly memory?: TaskMemory;
  /** Local ports that image URLs may use. */
  readonly ports?: readonly string[];
}

/** A worker's parts for one task, assembled like in its module. */
export function imageWorker(
  room: TaskRoom,
  { store, registry, limiter = OPEN_LIMITER, leaseMs = '1000', provenance = 'on', ports = ['80'], memory }: WorkerParts,
) {
  const [config, workerConfig] = loadConfig([TasksConfig, WorkerConfig], { LEASE_MS: leaseMs, PROVENANCE: provenance });
  const [egress] = loadConfig([EgressConfig], { EGRESS_ALLOW_CIDRS: '127.0.0.0/8', EGRESS_PORTS: ports.join() });
  const { events, queue, slots, deliveries, transitions, logger } = room;
  const grace = new ShutdownGrace(workerConfig, registry);
  const leases = new Leases(transitions, config, room.listener, logger, grace);
  const metrics = new Metrics();
  const figures = new TaskFigures(room.database);
  const meter = new TaskMeter(metrics, new ServiceReport(room.times, figures, workerConfig, leases, metrics, logger));
  const starts = new ProviderStarts(transitions, config, registry, logger);
  const progress = new TaskProgress(transitions, events, logger);
  const ends = new TaskEnds(slots, events, deliveries, metrics, room.lostCallers, room.redis);
  const partials = new TaskPartials(room.redis, room.redisConfig);
  const counter = new CallCounter(new CallHistory(room.redis, room.redisConfig), logger);
  const calls = new CallProvider(starts, progress, registry, limiter as ProviderLimiter, partials, meter, counter);
  const inputs = new LoadInputs(store, new PublicFetcher(egress));
  const images = new StoreResults(store, workerConfig, progress);
  const held = memory ?? new TaskMemory(workerConfig, queue, metrics);
  const orders = new OrderImage(starts, registry, calls, inputs, images, held);
  const drop = new DropInputs(room.database, store, logger);
  const settle = new SettleAttempt(transitions, ends, queue, events, drop, config, logger);
  const deleted = new DeletedTasks(room.database, events, config);
  const erasures = new EraseTasks(deleted, new UploadRepository(room.database), room.database, store, logger);
  const leave = new LeaveTask(deleted, erasures, logger);
  const run = new RunTask(leases, starts, orders, images, settle, leave, events, meter, logger);
  const close = async (): Promise<void> => {
    leases.close();
    await counter.onApplicationShutdown();
  };
  return { leases, metrics, run: (id: string) => run.run(id).finally(close) };
}

type Generate = ImageProvider['generate'];

/** A vendor that charges, with responses from the test. */
export function vendor(
  generate: (context: Parameters<Generate>[1], order: Parameters<Generate>[0]) => ReturnType<Generate>,
  name = 'paid',
): ImageProvider {
  return { name, free: false, interrupted: 'fail', generate: (order, context) => generate(context, order) };
}

/** A vendor's response with these images. */
export function imageOf(...images: readonly Buffer[]): Awaited<ReturnType<Generate>> {
  return { images, warnings: [] };
}
