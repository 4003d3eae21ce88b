import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AppError } from '#contract/app-error.js';
import type { ByteRange, ObjectStore, StoredObject } from '#storage/object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { ApiConfig } from '../common/api.config.js';
import { networkOf } from '../common/network-of.js';

/** Share of S3_CONNECTIONS for links; the rest is for uploads, checks, and images in responses. */
const LINK_SHARE = 3 / 4;
/** Share of the links' connections that one network may hold. */
const NETWORK_SHARE = 1 / 4;
/** In bytes per second; a download that is slower for its whole length is cut off. */
const SLOWEST = 16_000;
/** How long a download waits while its network has too many, in ms: a page of small images takes turns. */
const TURN_MS = 5_000;
/** Seconds after which a rejected caller may retry. */
const RETRY_AFTER = 2;

/**
 * Opens images for links, whose callers are unknown. Each holds a connection to the store until it has been read, so
 * their number and their time are limited. Files on disk have no connections to run out of.
 */
@Injectable()
export class LinkReads {
  private readonly limit: number;
  private readonly networkLimit: number;
  private readonly byNetwork = new Map<string, number>();
  /** Callers that wait for their turn, by network, the first to come first. */
  private readonly waiting = new Map<string, Set<() => void>>();
  private open = 0;

  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly config: ApiConfig,
    { storage, s3Connections }: StorageConfig,
  ) {
    this.limit = storage === 's3' ? Math.floor(s3Connections * LINK_SHARE) : Infinity;
    this.networkLimit = Math.max(1, Math.floor(this.limit * NETWORK_SHARE));
  }

  /**
   * Opens an image, or a range of it, whose bytes will be this response. Throws ObjectNotFound, StorageError, or AppError
   * `concurrency_limit_exceeded` or `server_is_overloaded`.
   */
  async read(key: string, reply: FastifyReply, range?: ByteRange): Promise<StoredObject> {
    const network = networkOf(reply.request.ip);
    if (!this.take(network)) await this.turn(network, reply);
    const leave = (): void => this.leave(network);
    try {
      const stored = await this.store.open(key, range && { range });
      const timer = this.limitTime(stored.bytes, reply);
      stored.stream.once('close', () => {
        clearTimeout(timer);
        leave();
      });
      return stored;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Returns when another download of the network has ended and this one has its place. */
  private async turn(network: string, { raw }: FastifyReply): Promise<void> {
    const waiting = this.waiting.get(network) ?? new Set();
    this.waiting.set(network, waiting);
    await new Promise<void>((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        raw.off('close', giveUp);
        waiting.delete(start);
        if (waiting.size === 0) this.waiting.delete(network);
      };
      const start = (): void => {
        end();
        resolve();
      };
      const giveUp = (): void => {
        end();
        const what = `Your network is limited to ${this.networkLimit} downloads at a time.`;
        reject(new AppError('concurrency_limit_exceeded', what, { retryAfter: RETRY_AFTER }));
      };
      const timer = setTimeout(giveUp, raw.closed ? 0 : TURN_MS);
      raw.once('close', giveUp);
      waiting.add(start);
    });
  }

  /** False while the network has as many as it may. */
  private take(network: string): boolean {
    if (this.openOf(network) >= this.networkLimit) return false;
    if (this.open >= this.limit) {
      throw new AppError('server_is_overloaded', 'Too many images are being downloaded.', { retryAfter: RETRY_AFTER });
    }
    this.byNetwork.set(network, this.openOf(network) + 1);
    this.open += 1;
    return true;
  }

  private openOf(network: string): number {
    return this.byNetwork.get(network) ?? 0;
  }

  private leave(network: string): void {
    const [next] = this.waiting.get(network) ?? [];
    if (next !== undefined) {
      next();
      return;
    }
    const left = this.openOf(network) - 1;
    if (left > 0) this.byNetwork.set(network, left);
    else this.byNetwork.delete(network);
    this.open -= 1;
  }

  private limitTime(bytes: number, reply: FastifyReply): NodeJS.Timeout {
    return setTimeout(() => reply.raw.destroy(), this.config.requestTimeoutMs + (bytes / SLOWEST) * 1_000);
  }
}
