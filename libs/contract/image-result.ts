import type { ErrorDetail } from './app-error.js';
import type { ExtraValues } from './extra-fields.js';
import type { ImageUsage } from './image-usage.js';
import { whyIgnored } from './request-fields.js';

/** The properties of a finished image that responses show. */
export interface ResultImage {
  readonly contentType: string;
  readonly width: number;
  readonly height: number;
  readonly sizes?: { readonly sent: string; readonly received: string };
  readonly warnings?: readonly string[];
  readonly provenance?: 'kept' | 'marked' | 'none';
}

/** The properties of a task that responses show. Times are Dates. */
export interface ResultTask {
  readonly id: string;
  readonly requestId: string;
  readonly action: 'generation' | 'edit';
  readonly model: string;
  readonly options: {
    readonly resolution: '1k' | '2k' | '4k' | null;
    readonly quality: string | null;
    readonly background: string | null;
    readonly pixels?: { readonly width: number; readonly height: number } | null;
    readonly ignored?: readonly string[];
    readonly promptChanged?: boolean;
    readonly extra?: ExtraValues;
    readonly user?: string | null;
    readonly safetyIdentifier?: string | null;
  };
  readonly status: 'pending' | 'completed' | 'failed' | 'cancelled';
  readonly phase: 'held' | 'queued' | 'running' | 'storing' | 'done';
  readonly progress: number;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  readonly error: (ErrorDetail & { readonly http_status: number }) | null;
  readonly usage: ImageUsage | null;
  readonly labels?: { readonly endUser: string | null; readonly tags: readonly string[] | null } | null;
}

/** Whole seconds since 1970, rounded down, as in responses. */
export function unixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

/** Pixels as measured from the bytes, `2048x1152`. */
export function measuredSize(image: ResultImage): string {
  return `${image.width}x${image.height}`;
}

/** What was adapted or ignored, as sentences; nothing if there is none. `first`: the task's first image, which has them. */
export function warningsOf(
  { options: { ignored = [], promptChanged = false } }: ResultTask,
  first: ResultImage | undefined,
): { warnings?: string[] } {
  const warnings = [
    ...(promptChanged ? ['The prompt was changed by the guardrail of this service.'] : []),
    ...ignored.map((name) => `${whyIgnored(name)} and was ignored.`),
    ...(first?.warnings ?? []),
  ];
  return warnings.length === 0 ? {} : { warnings };
}
