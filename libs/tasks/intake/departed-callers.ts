import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { inList } from '#database/prisma-values.js';
import { readClosedConnections, type OpenCall } from './open-call.js';

/** A request without a key that this process is accepting. */
interface Accepting {
  readonly call: OpenCall;
  readonly accepted: Promise<unknown>;
}

/** A request whose caller has left: of this task, or of any equal one that it may have attached to. */
interface LeftTask {
  readonly id?: string;
  readonly fingerprint: Uint8Array<ArrayBuffer> | undefined;
  readonly requestId: string;
}

/**
 * Marks the tasks of callers that have left this process, with the outcome (delivered) or without it (abandoned), and lets
 * equal requests wait until the marks are written. Of processes that could not write theirs, LostCallers does.
 */
@Injectable()
export class DepartedCallers {
  /** By fingerprint. */
  private readonly accepting = new Map<string, Set<Accepting>>();
  private readonly left;

  constructor(private readonly prisma: PrismaService) {
    this.left = prisma.repeated<LeftTask>((left) => this.markLeft(left));
  }

  /** Lets equal requests find out that this process is accepting one. */
  async watch<T>(fingerprint: Buffer, call: OpenCall, accepted: Promise<T>): Promise<T> {
    const name = fingerprint.toString('hex');
    const others = this.accepting.get(name) ?? new Set<Accepting>();
    const one = { call, accepted };
    this.accepting.set(name, others.add(one));
    try {
      return await accepted;
    } finally {
      others.delete(one);
      if (others.size === 0) this.accepting.delete(name);
    }
  }

  /** Records that the tasks' outcomes were sent to their callers, so that an equal request makes a new task. */
  async markDelivered(ids: readonly string[]): Promise<void> {
    await this.prisma.task.updateMany({
      where: { id: { in: inList(ids) }, deliveredAt: null },
      data: { deliveredAt: new Date() },
    });
  }

  /**
   * Records the same of a task whose outcome was read by its id. Only of asynchronous ones: a caller that waits for its
   * task may still have to get it.
   */
  async markRead(id: string): Promise<void> {
    await this.prisma.task.updateMany({
      where: { id, asynchronous: true, deliveredAt: null },
      data: { deliveredAt: new Date() },
    });
  }

  /**
   * Records that the caller of `requestId` left without the task's outcome, so that an equal request may get the task
   * (EqualRequests). Changes nothing when another request has attached to it since, or the outcome was delivered. Throws
   * what the database throws, and repeats it then until the database answers; requests of `fingerprint` wait for it.
   */
  async markAbandoned(id: string, requestId: string, fingerprint?: Buffer): Promise<void> {
    const left = { id, requestId, fingerprint: fingerprint && new Uint8Array(fingerprint) };
    this.left.add(left);
    await this.markLeft([left]);
    this.left.forget(left);
  }

  /** Records the same of a request that failed: it may have attached to a task, or may yet, without knowing it. */
  abandonAttached(fingerprint: Buffer, requestId: string): void {
    this.left.add({ fingerprint: new Uint8Array(fingerprint), requestId });
  }

  /**
   * Returns once the database knows which callers of equal requests have left this process, also of requests that are
   * being accepted. Throws what the database throws.
   */
  async waitForMarks(fingerprint: Buffer): Promise<void> {
    const equal = [...(this.accepting.get(fingerprint.toString('hex')) ?? [])];
    await Promise.allSettled(equal.flatMap(({ call, accepted }) => (call.gone.aborted ? accepted : [])));
    await this.left.repeatNow((one) => one.fingerprint !== undefined && fingerprint.equals(one.fingerprint));
  }

  /** Like `waitForMarks`, for a process that asks, also about connections whose end has not been read yet. */
  async waitForAllMarks(fingerprint: Buffer): Promise<void> {
    // Twice, because what follows from a closed connection takes some turns, too.
    await readClosedConnections();
    await readClosedConnections();
    await this.waitForMarks(fingerprint);
  }

  /** Returns those that are done; a request that failed may attach later, when a frozen database resumes. */
  private async markLeft(left: readonly LeftTask[]): Promise<LeftTask[]> {
    const requestId = { in: inList(left.map((one) => one.requestId)) };
    const ids = left.flatMap(({ id }) => id ?? []);
    const fingerprints = left.flatMap(({ id, fingerprint = [] }) => (id === undefined ? fingerprint : []));
    const named = { id: { in: inList(ids) }, OR: [{ attachedBy: requestId }, { attachedBy: null, requestId }] };
    const equal = { fingerprint: { in: inList(fingerprints) }, attachedBy: requestId, abandonedAt: null };
    for (const which of [...(ids.length > 0 ? [named] : []), ...(fingerprints.length > 0 ? [equal] : [])]) {
      const where = { ...which, deliveredAt: null };
      // Nor did the caller learn what the task cost.
      await this.prisma.task.updateMany({ where, data: { abandonedAt: new Date(), costTold: false } });
    }
    return left.filter(({ id }) => id !== undefined);
  }
}
