import OpenAI from 'openai';
import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from './chance.js';
import { call, newMarker, order, type Outcome, type TaskData } from './fault-callers.js';
import type { FaultRoom, Member } from './fault-room.js';
import type { LedgerProvider, ProviderFault } from './ledger-provider.js';

/** Part of every prompt; must never appear where prompts don't belong. */
export const PROMPT_CANARY = 'canary-of-prompts';

/** A request for one image, with everything that its caller received. */
export interface Wish {
  readonly kind: 'sync' | 'async' | 'keyed' | 'sdk' | 'uncounted' | 'stream';
  readonly marker: string;
  readonly key: string;
  readonly startedAt: number;
  endedAt: number;
  /** Each call with the API process that it went to; an SDK's own retries are not visible. */
  readonly calls: { readonly outcome: Outcome; readonly api: Member; readonly pid: number | undefined }[];
  readonly progress: number[];
  taskId?: string | undefined;
  cancelled?: boolean;
  /** Its caller got a response that it was accepted. */
  accepted?: boolean;
}

/** Callers of every kind that keep sending requests until they are stopped. */
export class Traffic {
  readonly wishes: Wish[] = [];
  private going = true;
  private readonly loops: Promise<void>[] = [];

  constructor(
    private readonly room: FaultRoom,
    private readonly provider: LedgerProvider,
    private readonly keys: readonly string[],
    private readonly chance: Chance,
    /** Milliseconds. */
    private readonly budget: { readonly sync: number; readonly deadline: number },
  ) {}

  start(): void {
    const kinds = [
      ...(['sync', 'sync', 'async', 'async', 'keyed', 'sdk', 'sdk'] as const),
      ...(['uncounted', 'uncounted', 'stream'] as const),
    ];
    for (const [n, kind] of kinds.entries())
      this.loops.push(this.loop(kind, this.keys[n % this.keys.length] as string));
  }

  /** Resolves when the last caller has its response. */
  async stop(): Promise<void> {
    this.going = false;
    await Promise.all(this.loops);
  }

  private async loop(kind: Wish['kind'], key: string): Promise<void> {
    while (this.going) {
      const wish: Wish = { kind, key, marker: newMarker(), startedAt: Date.now(), endedAt: 0, calls: [], progress: [] };
      this.wishes.push(wish);
      const faults: ProviderFault[] = [];
      while (this.chance.happens(0.08))
        faults.push(this.chance.pick(['http-429', 'http-500', 'html', 'cut-in-body', 'empty-list']));
      this.provider.plan(wish.marker, { latencyMs: this.chance.between(300, 3_000), faults });
      await this[kind](wish);
      wish.endedAt = Date.now();
      await delay(this.chance.between(100, 600));
    }
  }

  private prompt({ marker }: Wish): string {
    return `${PROMPT_CANARY} ${marker}`;
  }

  private async ask(wish: Wish, path: string, options: Parameters<typeof call>[3] = {}): Promise<Outcome> {
    const api = this.chance.pick(this.room.apis);
    const pid = api.process?.pid;
    const outcome = await call(api, wish.key, path, { timeoutMs: 120_000, ...options });
    wish.calls.push({ outcome, api, pid });
    if (outcome.taskId !== undefined) {
      wish.taskId = outcome.taskId;
      wish.accepted = true;
    }
    return outcome;
  }

  private async sync(wish: Wish): Promise<void> {
    await this.ask(wish, '/v1/images/generations', { body: order(this.prompt(wish)) });
  }

  private async keyed(wish: Wish): Promise<void> {
    for (let tries = 0; tries < 12; tries++) {
      const headers = { 'idempotency-key': wish.marker };
      const { status } = await this.ask(wish, '/v1/images/generations', { body: order(this.prompt(wish)), headers });
      if (status !== 0 && status !== 503 && status !== 504) return;
      await delay(1_000);
    }
  }

  private async async(wish: Wish): Promise<void> {
    const { status } = await this.ask(wish, '/v1/images/generations/async', { body: order(this.prompt(wish)) });
    if (status !== 202) return;
    if (this.chance.happens(0.25)) {
      await delay(this.chance.between(0, 3_000));
      const { body } = await this.ask(wish, `/v1/tasks/${wish.taskId}/cancel`, { method: 'POST' });
      wish.cancelled = (body as { data?: TaskData } | undefined)?.data?.status === 'cancelled';
    }
    await this.follow(wish);
  }

  private async follow(wish: Wish): Promise<void> {
    const until = Date.now() + this.budget.deadline;
    while (Date.now() < until) {
      const data = (await this.ask(wish, `/v1/tasks/${wish.taskId}`)).body as { data?: TaskData } | undefined;
      if (data?.data !== undefined) wish.progress.push(data.data.progress);
      if (data?.data !== undefined && data.data.status !== 'pending') return;
      await delay(500);
    }
  }

  /** An SDK with its default settings. */
  private async sdk(wish: Wish): Promise<void> {
    const api = this.chance.pick(this.room.apis);
    const openai = new OpenAI({ apiKey: wish.key, baseURL: `${api.url}/v1` });
    await openai.images
      .generate(order(this.prompt(wish)) as OpenAI.ImageGenerateParamsNonStreaming)
      .catch(() => undefined);
  }

  /** Retries like the AI SDK, LangChain and old SDKs: the same request, without a marker of the retry. */
  private async uncounted(wish: Wish): Promise<void> {
    for (let tries = 0; tries < 6; tries++) {
      const { status } = await this.ask(wish, '/v1/images/generations', { body: order(this.prompt(wish)) });
      if (status !== 0 && status < 500) return;
      await delay(this.chance.between(200, 2_000));
    }
  }

  private async stream(wish: Wish): Promise<void> {
    await this.ask(wish, '/v1/images/generations', {
      body: { ...order(this.prompt(wish)), stream: true, partial_images: 1 },
    });
  }
}
