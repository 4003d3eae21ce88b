import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { OutputFormat } from '#contract/accepted-values.js';
import { PRODUCER_REDIS, LISTENING_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';

/** A partial image on its way from a worker to the caller that streams its task. */
export interface TaskPartial {
  /** 0..2 */
  readonly index: number;
  readonly format: OutputFormat;
  /** Pixels of the final image, `<w>x<h>`, where the provider says so. */
  readonly size?: string | undefined;
  readonly base64: string;
}

/** Longer base64 is dropped: partials are optional, and Redis buffers each for every subscriber until it is sent. */
const MAX_BASE64_LENGTH = 1_500_000;

/** Sends partial images through one channel per task. Redis passes them on and keeps nothing. */
@Injectable()
export class TaskPartials {
  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
  ) {}

  /** Never fails: a partial that is too large or can't be sent is left out. */
  send(taskId: string, described: Omit<TaskPartial, 'base64'>, image: Buffer): void {
    if (4 * Math.ceil(image.length / 3) > MAX_BASE64_LENGTH) return;
    const partial: TaskPartial = { ...described, base64: image.toString('base64') };
    this.redis.publish(partialChannel(this.config, taskId), JSON.stringify(partial)).catch(() => undefined);
  }
}

/** Later listeners to the same task get nothing: each partial image is written out once per listener. */
const MAX_LISTENERS = 10;

type PartialListener = (partial: TaskPartial) => void;

/** Receives the partial images of chosen tasks, on the connection that task events use too. */
@Injectable()
export class TaskPartialsListener {
  private readonly listeners = new Map<string, Set<PartialListener>>();

  constructor(
    @Inject(LISTENING_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
  ) {
    redis.on('message', (channel: string, message: string) => {
      const listeners = this.listeners.get(channel);
      if (listeners === undefined) return;
      const partial = JSON.parse(message) as TaskPartial;
      for (const listener of listeners) listener(partial);
    });
  }

  /** Receives what is sent from now on, until the returned function is called. */
  listen(taskId: string, listener: PartialListener): () => void {
    const channel = partialChannel(this.config, taskId);
    const others = this.listeners.get(channel);
    if (others === undefined) {
      this.listeners.set(channel, new Set([listener]));
      // ioredis resubscribes by itself after a reconnect.
      this.redis.subscribe(channel).catch(() => undefined);
    } else if (others.size < MAX_LISTENERS) others.add(listener);
    return () => {
      const rest = this.listeners.get(channel);
      if (rest?.delete(listener) !== true || rest.size > 0) return;
      this.listeners.delete(channel);
      this.redis.unsubscribe(channel).catch(() => undefined);
    };
  }
}

function partialChannel({ redisPrefix }: RedisConfig, taskId: string): string {
  return `${redisPrefix}:tasks:partial:${taskId}`;
}
