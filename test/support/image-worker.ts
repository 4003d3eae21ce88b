import { Readable } from 'node:stream';
import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import type { ImageProvider } from '#providers/image-provider.js';
import type { ProviderRegistry } from '#providers/registry.js';
import type { Gate } from '#routing/gate.js';
import type { ObjectStore } from '#storage/object-store.js';
import { TaskPartials } from '#tasks/task-partials.js';
import { TasksConfig } from '#tasks/tasks.config.js';
import { Metrics } from '#telemetry/metrics.js';
import { CallProvider } from '../../apps/worker/src/call-provider.js';
import { Holds } from '../../apps/worker/src/hold.js';
import { KeepThumbnail } from '../../apps/worker/src/keep-thumbnail.js';
import { LoadInputs } from '../../apps/worker/src/load-inputs.js';
import { OrderPicture } from '../../apps/worker/src/order-picture.js';
import { RunImageTask } from '../../apps/worker/src/run-image-task.js';
import { TaskKeeper } from '../../apps/worker/src/task-keeper.js';
import { TaskMeter } from '../../apps/worker/src/task-meter.js';
import type { TaskRoom } from './task-room.js';

/** Lets every call pass. */
export const OPEN_GATE: Gate = { enter: () => Promise.resolve({ end: () => undefined, park: () => undefined }) };

interface WorkerParts {
  readonly store: ObjectStore;
  /** Where thumbnails go, if elsewhere. */
  readonly thumbnailStore?: ObjectStore;
  readonly registry: ProviderRegistry;
  readonly gate?: Gate;
  /** Milliseconds, as a setting. */
  readonly leaseMs?: string;
  /** Local ports that image addresses may name. */
  readonly ports?: readonly string[];
}

/** A worker's parts, as its module puts them together, for one task. */
export function imageWorker(
  room: TaskRoom,
  { store, thumbnailStore = store, registry, gate = OPEN_GATE, leaseMs = '1000', ports = ['80'] }: WorkerParts,
) {
  const [config] = loadConfig([TasksConfig], { LEASE_MS: leaseMs });
  const [egress] = loadConfig([EgressConfig], { EGRESS_ALLOW_CIDRS: '127.0.0.0/8', EGRESS_PORTS: ports.join() });
  const holds = new Holds(room.moves, config.leaseMs, room.logger);
  const { bell, queue, slots, deliveries } = room;
  const meter = new TaskMeter(new Metrics(), { add: () => undefined });
  const keeper = new TaskKeeper(room.moves, holds, { bell, queue, slots, deliveries, meter }, config, room.logger);
  const calls = new CallProvider(keeper, registry, gate, new TaskPartials(room.redis, room.prefix));
  const inputs = new LoadInputs(store, new PublicFetcher(egress));
  const thumbnails = new KeepThumbnail(room.moves, thumbnailStore, holds, room.logger);
  const run = new RunImageTask(keeper, new OrderPicture(keeper, registry, calls, inputs), store, thumbnails);
  return { holds, run: (id: string) => run.run(id).finally(() => holds.close()) };
}

type Generate = ImageProvider['generate'];

/** A vendor that charges, whose every answer the test decides. */
export function vendor(
  generate: (context: Parameters<Generate>[1], order: Parameters<Generate>[0]) => ReturnType<Generate>,
  name = 'paid',
): ImageProvider {
  return { name, free: false, interrupted: 'fail', generate: (order, context) => generate(context, order) };
}

/** A vendor's answer with this picture. */
export function pictureOf(bytes: Buffer): Awaited<ReturnType<Generate>> {
  return { image: Readable.from([bytes]), warnings: [] };
}
