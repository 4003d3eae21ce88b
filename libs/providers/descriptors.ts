import { AI_SDK } from './ai-sdk/descriptor.js';
import { COMFYUI } from './comfyui/descriptor.js';
import type { ImageProvider } from './image-provider.js';
import { OPENAI } from './openai/descriptor.js';
import type { AdapterParts, MakeAdapter, ProviderDescriptor } from './provider-descriptor.js';
import type { ProviderEntry, ProviderKey } from './provider-entry.js';
import { SANDBOX } from './sandbox/descriptor.js';
import { SUBMIT_POLL } from './submit-poll/descriptor.js';

/** Every type of provider, by the name that the catalog calls it. */
export const DESCRIPTORS: Readonly<Record<string, ProviderDescriptor>> = {
  ...SANDBOX,
  ...OPENAI,
  ...SUBMIT_POLL,
  ...COMFYUI,
  ...AI_SDK,
};

/** Where a provider is asked for a new image, without anything secret; null where that is not known before the call. */
export function imagesUrl({ type, baseUrl = '' }: ProviderEntry): string | null {
  const { imagesPath } = DESCRIPTORS[type] ?? {};
  if (imagesPath === undefined || !URL.canParse(baseUrl)) return null;
  const { origin, pathname } = new URL(baseUrl + imagesPath);
  return origin + pathname;
}

/** Makes the adapter of one key of a provider; the key is absent where the provider has none. */
export type MakeProvider = (entry: ProviderEntry, key: ProviderKey | undefined) => ImageProvider;

/** Loads all adapters. The function it answers with makes that of an entry, and throws Error when its options are wrong. */
export async function loadAdapters(parts: AdapterParts): Promise<MakeProvider> {
  const adapters = new Map<string, MakeAdapter>();
  // One after the other: they share modules, and jest's loader does not link one for two at the same time.
  for (const [type, { load }] of Object.entries(DESCRIPTORS)) adapters.set(type, await load());
  return (entry, key) => {
    const make = adapters.get(entry.type);
    if (make === undefined) throw new Error(`type: there is no provider of type ${entry.type}`);
    return make(entry, key, parts);
  };
}

/** What keeps adapters from being made of a catalog's providers, with where it stands in the catalog. */
export function adapterProblems(
  providers: Iterable<ProviderEntry>,
  make: MakeProvider,
): { readonly path: readonly string[]; readonly text: string }[] {
  return [...providers].flatMap((entry) => {
    try {
      make(entry, entry.keys[0]);
      return [];
    } catch (error) {
      // Such messages begin with the field: options.slots.prompt must be ...
      const [field = '', ...words] = (error instanceof Error ? error.message : String(error)).split(' ');
      return [{ path: ['providers', entry.name, ...field.split('.')], text: words.join(' ') }];
    }
  });
}

/** The call that may take longest. */
export interface LongestCall {
  readonly provider: string;
  readonly ms: number;
}

/** Of all calls to these providers; undefined where each ends at once when it is aborted. Throws what `make` throws. */
export function longestCall(providers: Iterable<ProviderEntry>, make: MakeProvider): LongestCall | undefined {
  const calls = [...providers].flatMap((entry) => {
    const { longestCallMs: ms } = make(entry, entry.keys[0]);
    return ms === undefined ? [] : [{ provider: entry.name, ms }];
  });
  return calls.sort((a, b) => b.ms - a.ms)[0];
}

/** For finishing and storing an image that arrives in the last moment of its provider's time, in ms. */
const FINISH_MS = 30_000;

/** How long a stopping worker waits for what is in hand, in ms: a call that may be paid gets the time that its provider has. */
export function graceFor(call: LongestCall | undefined): number {
  return (call?.ms ?? 0) + FINISH_MS;
}

/** What is wrong with a SHUTDOWN_GRACE_MS that is over before the longest call is; undefined when nothing is. */
export function graceProblem(graceMs: number, call: LongestCall | undefined): string | undefined {
  if (call === undefined || call.ms <= graceMs) return undefined;
  return (
    `SHUTDOWN_GRACE_MS is ${graceMs}, and a call of ${call.provider} may take ${call.ms} ms: a worker that stops cuts it ` +
    `off, though it may be paid for; give workers ${graceFor(call)}, and 10 s more until they are killed`
  );
}
