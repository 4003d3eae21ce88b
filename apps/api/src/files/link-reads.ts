import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { FairSemaphore, type SemaphoreRefusal } from '#limits/fair-semaphore.js';
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
/** Bytes of earlier objects that a response of several may still have to send when it opens the next: two long lines. */
const UNSENT_BYTES = 2_097_152;
/** How long a download waits while its network has too many, in ms: a page of small images takes turns. */
const TURN_MS = 5_000;
/** Seconds after which a rejected caller may retry. */
const RETRY_AFTER = 2;

/** Objects that are read one after the other for one response. */
export interface SeriesOfReads {
  /** Closes the object before. */
  readonly open: (key: string, range?: ByteRange) => Promise<StoredObject>;
  readonly leave: () => void;
}

/**
 * Opens images for links, whose callers are unknown. Each holds a connection to the store until it has been read, so
 * their number and their time are limited. Files on disk have no connections to run out of.
 */
@Injectable()
export class LinkReads {
  private readonly places: FairSemaphore;

  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly config: ApiConfig,
    { storage, s3Connections }: StorageConfig,
  ) {
    const places = storage === 's3' ? Math.floor(s3Connections * LINK_SHARE) : Infinity;
    const placesOfOne = Math.max(1, Math.floor(places * NETWORK_SHARE));
    const bounds = { places, placesOfOne, waiting: Infinity, waitingOfOne: Infinity, waitMs: TURN_MS };
    this.places = new FairSemaphore(bounds, (why) => refusal(why, placesOfOne));
  }

  /**
   * Opens an image, or a range of it, whose bytes will be this response. Throws ObjectNotFound, StorageError, or AppError
   * `concurrency_limit_exceeded` or `server_is_overloaded`.
   */
  async read(key: string, reply: FastifyReply, range?: ByteRange): Promise<StoredObject> {
    const leave = await this.place(reply);
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

  /**
   * For a response made of several objects, of which one is open at a time: it keeps one place until `leave`, so the time of
   * each object lasts until the next one is opened. Throws AppError like `read`; `open` of what it returns throws
   * ObjectNotFound or StorageError.
   */
  async series(reply: FastifyReply): Promise<SeriesOfReads> {
    const leavePlace = await this.place(reply);
    let left = false;
    let current: StoredObject | undefined;
    let timer: NodeJS.Timeout | undefined;
    const leave = (): void => {
      if (left) return;
      left = true;
      clearTimeout(timer);
      current?.stream.destroy();
      leavePlace();
    };
    const open = async (key: string, range?: ByteRange): Promise<StoredObject> => {
      current?.stream.destroy();
      current = await this.store.open(key, range && { range });
      if (left) {
        current.stream.destroy();
        throw new Error('the download has ended');
      }
      clearTimeout(timer);
      timer = this.limitTime(current.bytes + UNSENT_BYTES, reply);
      return current;
    };
    return { open, leave };
  }

  private place(reply: FastifyReply): Promise<() => void> {
    return this.places.waitForOwn(networkOf(reply.request.ip), closing(reply));
  }

  private limitTime(bytes: number, reply: FastifyReply): NodeJS.Timeout {
    return setTimeout(() => reply.raw.destroy(), this.config.requestTimeoutMs + (bytes / SLOWEST) * 1_000);
  }
}

function refusal(why: SemaphoreRefusal, placesOfOne: number): AppError {
  if (why === 'all') {
    return unavailable('Too many images are being downloaded.', { retryAfter: RETRY_AFTER });
  }
  const what = `Your network is limited to ${placesOfOne} downloads at a time.`;
  return new AppError('concurrency_limit_exceeded', what, { retryAfter: RETRY_AFTER });
}

/** Aborts when the connection closes: a caller that has left needs no turn. */
function closing({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController();
  if (raw.closed) closed.abort();
  else raw.once('close', () => closed.abort());
  return closed.signal;
}
