import sharp from 'sharp';
import { json, startUpstream } from './scripted-upstream.js';

const MARKER = /mark-[a-z0-9]+/;

/** A vendor of type toapis that accepts any number of jobs, and finishes none before it is told to. */
export class ManyJobsVendor {
  /** The markers of the accepted jobs, in order; the id of a job is its place here. */
  private readonly jobs: string[] = [];
  private finishing = false;

  private constructor(
    private readonly upstream: Awaited<ReturnType<typeof startUpstream>>,
    image: string,
  ) {
    upstream.script((call, response) => this.answer(call, image)(call, response));
  }

  static async start(): Promise<ManyJobsVendor> {
    const drawn = { width: 1024, height: 1024, channels: 3, background: '#5577aa' } as const;
    const png = await sharp({ create: drawn }).png().toBuffer();
    return new ManyJobsVendor(await startUpstream(), png.toString('base64'));
  }

  /** With /v1, like a configured base URL. */
  get url(): string {
    return this.upstream.url;
  }

  /** Number of accepted jobs. */
  get starts(): number {
    return this.jobs.length;
  }

  startsOf(marker: string): number {
    return this.jobs.filter((job) => job === marker).length;
  }

  /** From now on, every job is finished at its next poll. */
  finish(): void {
    this.finishing = true;
  }

  async close(): Promise<void> {
    await this.upstream.close();
  }

  private answer({ method, path, body }: { method: string; path: string; body: Buffer }, image: string) {
    if (method === 'POST') {
      const id = `job_${this.jobs.push(MARKER.exec(String(body))?.[0] ?? 'unmarked')}`;
      return json({ id, object: 'generation.task', status: 'queued', progress: 0 });
    }
    const id = path.slice(path.lastIndexOf('/') + 1);
    const work = { id, object: 'generation.task', status: 'in_progress', progress: 50 };
    const result = { type: 'image', data: [{ b64_json: image }] };
    return json(this.finishing ? { ...work, status: 'completed', progress: 100, result } : work);
  }
}
