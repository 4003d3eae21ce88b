import { Redis } from 'ioredis';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, type Browser } from '../support/console.js';
import { counted, measured } from '../support/figures.js';
import { patient } from '../support/patience.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { ProcessProbe } from '../support/process-probe.js';

const TASKS = 12;
const READERS = 10;
/** As often as a provider that starts again sends them; each as long as one may be. */
const PARTIALS = 6;
const IMAGE = 'A'.repeat(1_499_996);
/** The least there may be: 134 MB, of which one account may have half. */
const BODY_MEMORY = 134_217_728;
/** What the process may hold more: that, and what the streams themselves need. It was 762 MB, resident. */
const GROWTH_MB = 101 + 20;

describe('H1: event streams that nobody reads', () => {
  let platform: ApiPlatform;
  let admin: Browser;
  let redis: Redis;
  const sockets: Socket[] = [];
  const probe = new ProcessProbe();

  beforeAll(async () => {
    platform = await startApiPlatform({
      BODY_MEMORY: String(BODY_MEMORY),
      ...probe.settings,
      // They read on once all partial images were sent, however long that takes.
      REQUEST_TIMEOUT_MS: '3600000',
    });
    admin = await signInFirstAdmin(platform);
    redis = new Redis(platform.settings['REDIS_URL'] ?? '', { commandTimeout: patient(20_000) });
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    redis.disconnect();
    await platform.close();
    probe.close();
  });

  /** A reader of a task that stops once the stream has begun; what came until then. */
  async function stall(taskId: string): Promise<{ socket: Socket; text: string }> {
    const { port, hostname, host } = new URL(platform.url);
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write(
      `GET /console/api/tasks/${taskId}/events HTTP/1.1\r\nhost: ${host}\r\ncookie: ${admin.cookie}\r\n\r\n`,
    );
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    return { socket, text: chunk.toString() };
  }

  /** Reads on to the end: how many partial images came, and the last event. */
  async function readOn({
    socket,
    text,
  }: {
    socket: Socket;
    text: string;
  }): Promise<{ partials: number; end: string }> {
    let partials = 0;
    let end = text;
    socket.on('data', (chunk: Buffer) => {
      const before = end.length;
      const read = end + chunk.toString();
      partials += [...read.matchAll(/event: partial\n/g)].filter(({ index }) => index + 15 > before).length;
      end = read.slice(-4_000);
      if (end.endsWith('0\r\n\r\n')) socket.end();
    });
    socket.resume();
    await once(socket, 'close');
    return { partials, end };
  }

  it('hold no more partial images than the memory for bodies, and get the end all the same', async () => {
    const ids = await Promise.all(
      Array.from({ length: TASKS }, async (_, index) => {
        const body = { model: 'gpt-image-2', prompt: `a cat ${index}`, partial_images: 3 };
        return (await admin.ask<{ task_id: string }>('/images', { body })).task_id;
      }),
    );
    const read: { partials: number; end: string }[] = [];
    const seen = await probe.during(platform.api, async () => {
      const readers = await Promise.all(ids.flatMap((id) => Array.from({ length: READERS }, () => stall(id))));
      const channels = ids.map((id) => `${platform.settings['REDIS_PREFIX']}:tasks:partial:${id}`);
      const listening = async (): Promise<boolean> => {
        const counts = await redis.pubsub('NUMSUB', ...channels);
        return channels.every((channel) => counts[counts.indexOf(channel) + 1] === 1);
      };
      expect(await waitUntil(listening, { timeoutMs: 20_000 })).toBe(true);
      const isTaken = async (): Promise<boolean> => {
        const clients = String(await redis.client('LIST', 'TYPE', 'PUBSUB')).split('\n');
        // Those of other tests on this server among them.
        const listeners = clients.filter((line) => Number(/ sub=(\d+)/.exec(line)?.[1]) > TASKS);
        return listeners.length > 0 && listeners.every((line) => line.includes(' omem=0 '));
      };
      const late = await stall(ids[0] ?? '');
      for (let index = 0; index < PARTIALS; index++) {
        const partial = JSON.stringify({ index: index % 3, format: 'png', base64: IMAGE });
        for (const channel of channels) {
          expect(await redis.publish(channel, partial)).toBe(1);
          // Redis hangs up on a listener that falls too far behind.
          expect(await waitUntil(isTaken, { timeoutMs: 20_000 })).toBe(true);
        }
      }
      for (const id of ids) await admin.ask(`/tasks/${id}/cancel`, { method: 'POST' });
      read.push(...(await Promise.all(readers.map(readOn))));
      const { partials, end } = await readOn(late);
      expect([partials, end.includes('"status":"cancelled"')]).toEqual([0, true]);
    });
    const what = `${TASKS * READERS} streams of ${PARTIALS} partial images that nobody reads`;
    measured(what, 'most that a turn of the event loop did', seen.longestTurnMs);
    counted(what, 'memory in use grew by (MB)', String(Math.round(seen.grownMb)));
    counted(what, 'partial images', String(read.reduce((sum, { partials }) => sum + partials, 0)));
    expect(read).toHaveLength(TASKS * READERS);
    for (const { end } of read) {
      expect(end).toContain('event: task.updated\n');
      expect(end).toContain('"status":"cancelled"');
    }
    expect(read.filter(({ partials }) => partials > 0).length).toBe(TASKS * READERS);
    expect(seen.grownMb).toBeLessThan(GROWTH_MB);
  }, 300_000);
});
