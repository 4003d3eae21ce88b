import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { blockEventLoop } from './block-event-loop.js';
import type { Chance } from './chance.js';
import { httpAnswer, type Fault } from './fault-proxy.js';
import type { FaultRoom, LinkName, Member } from './fault-room.js';
import type { FaultWindow } from './oracle.js';
import { patient } from './patience.js';

/** A fault: breaks something when called, and repairs it before it resolves. */
interface FaultInjection {
  readonly name: string;
  /** Its relative frequency. */
  readonly weight: number;
  /** Resolves with details, if the name leaves them open. */
  inject(chance: Chance): Promise<string | undefined | void>;
}

const LINK_FAULTS: Readonly<Record<LinkName, readonly Fault[]>> = {
  postgres: ['black-hole', 'mute', 'reset', 'half-open', { delayMs: 150 }, { bytesPerSecond: 200_000 }],
  redis: ['black-hole', 'mute', 'reset', 'half-open', { delayMs: 150 }, { bytesPerSecond: 100_000 }],
  s3: [httpAnswer(500), httpAnswer(403), 'black-hole', 'reset', { cutAfter: 100 }, { bytesPerSecond: 20_000 }],
  provider: ['black-hole', 'mute', 'reset', { cutAfter: 200 }, { delayMs: 500 }, httpAnswer(502, '<html>')],
};
const DOOR_FAULTS: readonly Fault[] = ['black-hole', 'mute', 'reset', { cutAfter: 60 }, { delayMs: 200 }];

/** Random faults, one after the other, sometimes two at once; repeatable by seed. */
export class Chaos {
  readonly windows: FaultWindow[] = [];
  private going = true;
  private loops: Promise<void>[] = [];
  /** What is currently broken; no other fault affects it in the meantime. */
  private readonly broken = new Set<Member | 'redis' | 'postgres'>();

  constructor(
    private readonly room: FaultRoom,
    private readonly chance: Chance,
    private readonly tell: (line: string) => void,
  ) {}

  start(): void {
    this.loops = [this.loop(1, 3), this.loop(8, 15)];
  }

  /** Resolves when everything is repaired and every process runs. */
  async stop(): Promise<void> {
    this.going = false;
    await Promise.all(this.loops);
  }

  private async loop(shortest: number, longest: number): Promise<void> {
    for (;;) {
      await delay(this.chance.between(shortest, longest) * 1_000);
      if (!this.going) return;
      const all = this.misfortunes();
      const drawn = this.chance.pick(
        all.flatMap((misfortune) => Array.from({ length: misfortune.weight }, () => misfortune)),
      );
      const from = Date.now();
      this.tell(drawn.name);
      const detail = await drawn.inject(this.chance);
      const name = typeof detail === 'string' ? `${drawn.name}: ${detail}` : drawn.name;
      this.windows.push({ name, from, to: Date.now() });
    }
  }

  private misfortunes(): FaultInjection[] {
    const { room } = this;
    return [
      ...room.members.flatMap((member) => this.ofMember(member)),
      ...[...room.api.links.keys()].map((link) => this.ofLink(link, room.members, 'all')),
      ...this.ofServices(),
    ];
  }

  private ofServices(): FaultInjection[] {
    const redis: FaultInjection[] = [
      { name: 'Redis killed', weight: 2, inject: (chance) => this.killRedis(chance, false) },
      { name: 'Redis killed and emptied', weight: 2, inject: (chance) => this.killRedis(chance, true) },
      { name: 'Redis flushed', weight: 2, inject: () => this.flushRedis() },
      { name: 'Redis frozen', weight: 1, inject: (chance) => freeze(this.room.redis.pid, chance) },
    ];
    const postgres: FaultInjection = {
      name: 'Postgres killed',
      weight: 3,
      inject: (chance) => this.killPostgres(chance),
    };
    return [
      ...(this.broken.has('redis') ? [] : redis.map((misfortune) => this.alone('redis', misfortune))),
      ...(this.broken.has('postgres') ? [] : [this.alone('postgres', postgres)]),
    ];
  }

  private alone(what: Member | 'redis' | 'postgres', { name, weight, inject: happen }: FaultInjection): FaultInjection {
    return {
      name,
      weight,
      inject: async (chance) => {
        this.broken.add(what);
        const detail = await happen(chance);
        this.broken.delete(what);
        return detail;
      },
    };
  }

  private ofMember(member: Member): FaultInjection[] {
    if (this.broken.has(member)) return [];
    const own: FaultInjection[] = [
      {
        name: `${member.name} killed`,
        weight: 2,
        inject: async (chance) => {
          await member.kill();
          await delay(chance.between(0, 2_000));
          await this.revive(member);
        },
      },
      {
        name: `${member.name} told to stop and started again`,
        weight: 1,
        inject: async () => {
          await member.stop();
          await this.revive(member);
        },
      },
      {
        name: `${member.name} frozen`,
        weight: 2,
        inject: async (chance) => {
          member.freeze();
          await delay(chance.between(1_000, member.app === 'api' ? 6_000 : 28_000));
          member.thaw();
        },
      },
      ...(member.app === 'worker' ? [this.ofEventLoop(member)] : []),
    ];
    return [
      ...own.map((misfortune) => this.alone(member, misfortune)),
      ...[...member.links.keys()].map((link) => this.ofLink(link, [member], member.name)),
      ...(member.door === undefined ? [] : [this.ofDoor(member)]),
    ];
  }

  private ofEventLoop(member: Member): FaultInjection {
    return {
      name: `${member.name} blocked`,
      weight: 1,
      inject: (chance) => blockEventLoop(member.running, chance.between(1_000, 28_000)),
    };
  }

  private ofLink(link: LinkName, members: readonly Member[], whose: string): FaultInjection {
    return {
      name: `link of ${whose} to ${link}`,
      weight: 1,
      inject: async (chance) => {
        const fault = chance.pick(LINK_FAULTS[link]);
        this.tell(`  ${JSON.stringify(fault).slice(0, 40)}`);
        const proxies = members.map((member) => member.link(link));
        for (const proxy of proxies) proxy.fault = fault;
        await delay(chance.between(1_000, 9_000));
        for (const proxy of proxies) proxy.fault = 'pass';
        if (fault === 'half-open') for (const proxy of proxies) proxy.cut();
      },
    };
  }

  private ofDoor(member: Member): FaultInjection {
    return {
      name: `callers of ${member.name} cut off`,
      weight: 2,
      inject: async (chance) => {
        const door = member.door as NonNullable<Member['door']>;
        const fault = chance.pick(DOOR_FAULTS);
        door.fault = fault;
        await delay(chance.between(500, 4_000));
        door.fault = 'pass';
        door.cut();
        return JSON.stringify(fault);
      },
    };
  }

  /** Restarts it again and again, like a supervisor. */
  private async revive(member: Member): Promise<void> {
    for (;;) {
      try {
        await member.start();
        return;
      } catch (error) {
        this.tell(`  ${member.name} did not start: ${String(error).slice(0, 120)}`);
      }
    }
  }

  private async killRedis(chance: Chance, lost: boolean): Promise<void> {
    await this.room.killRedis();
    await delay(chance.between(0, 8_000));
    await this.room.restartRedis(lost);
  }

  private async killPostgres(chance: Chance): Promise<void> {
    await this.room.killPostgres();
    await delay(chance.between(0, 6_000));
    await this.room.restartPostgres();
  }

  private async flushRedis(): Promise<void> {
    const redis = new Redis(this.room.redis.url, {
      commandTimeout: patient(10_000),
      lazyConnect: true,
      maxRetriesPerRequest: 1,
    });
    redis.on('error', () => undefined);
    await redis.flushall().catch(() => undefined);
    redis.disconnect();
  }
}

async function freeze(pid: number, chance: Chance): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await delay(chance.between(1_000, 8_000));
  process.kill(pid, 'SIGCONT');
}
