import { AI_SDK } from './ai-sdk/descriptor.js';
import { COMFYUI } from './comfyui/descriptor.js';
import type { ImageProvider } from './image-provider.js';
import { OPENAI } from './openai/descriptor.js';
import type { AdapterParts, MakeAdapter, ProviderDescriptor } from './provider-descriptor.js';
import type { Provider, ProviderEntry, ProviderKey } from './provider-entry.js';
import { SANDBOX } from './sandbox/descriptor.js';
import { SUBMIT_POLL } from './submit-poll/descriptor.js';

/** Every provider type, by its name in the catalog. */
export const DESCRIPTORS: Readonly<Record<string, ProviderDescriptor>> = {
  ...SANDBOX,
  ...OPENAI,
  ...SUBMIT_POLL,
  ...COMFYUI,
  ...AI_SDK,
};

/** URL at which new images are ordered, without secrets; null if it is not known before the call. */
export function imagesUrl({ type, baseUrl = '' }: Pick<ProviderEntry, 'type' | 'baseUrl'>): string | null {
  const { imagesPath } = DESCRIPTORS[type] ?? {};
  if (imagesPath === undefined || !URL.canParse(baseUrl)) return null;
  const { origin, pathname } = new URL(baseUrl + imagesPath);
  return origin + pathname;
}

/**
 * What a server must have loaded for a call, so that calls for the same come one after the other: servers on the
 * operator's hardware load models and workflows; empty for others.
 */
export function loadedFor({ type, free }: ProviderEntry, model: string, hasReferences: boolean): string {
  const isOwn = free || DESCRIPTORS[type]?.free === true;
  return isOwn ? `${model}${hasReferences ? ' edit' : ''}` : '';
}

/** Creates the adapter for one key of a provider; the key is undefined if the provider has none. */
export type MakeProvider = (entry: ProviderEntry, key: ProviderKey | undefined) => ImageProvider;

/** Loads all adapters. The returned function creates an entry's adapter, and throws Error if its options are wrong. */
export async function loadAdapters(parts: AdapterParts): Promise<MakeProvider> {
  const adapters = new Map<string, MakeAdapter>();
  // Load them one after the other: they share modules, and jest's loader can't link a module for two of them at once.
  for (const [type, { load }] of Object.entries(DESCRIPTORS)) adapters.set(type, await load());
  return (entry, key) => {
    const make = adapters.get(entry.type);
    if (make === undefined) throw new Error(`type: there is no provider of type ${entry.type}`);
    return make(entry, key, parts);
  };
}

/** Problems that keep adapters from being created for a catalog's providers, with their paths in the catalog. */
export function adapterProblems(
  providers: Iterable<Provider>,
  make: MakeProvider,
): { readonly path: readonly string[]; readonly text: string }[] {
  return [...providers].flatMap(({ name, servers }) => {
    try {
      for (const server of servers) make(server, server.keys[0]);
      return [];
    } catch (error) {
      // These messages start with the field: options.slots.prompt must be ...
      const [field = '', ...words] = (error instanceof Error ? error.message : String(error)).split(' ');
      return [{ path: ['providers', name, ...field.split('.')], text: words.join(' ') }];
    }
  });
}

/** The call that may take the longest. */
export interface LongestCall {
  readonly provider: string;
  readonly ms: number;
}

/** The longest call to these providers; undefined if all calls end at once when aborted. Throws what `make` throws. */
export function longestCall(providers: Iterable<Provider>, make: MakeProvider): LongestCall | undefined {
  const servers = [...providers].flatMap((provider) => provider.servers);
  const calls = servers.flatMap((entry) => {
    const { longestCallMs: ms } = make(entry, entry.keys[0]);
    return ms === undefined ? [] : [{ provider: entry.name, ms }];
  });
  return calls.sort((a, b) => b.ms - a.ms)[0];
}

/** Time to finish and store an image that arrives at the end of its provider's time limit, in ms. */
const FINISH_MS = 30_000;

/**
 * How long a stopping worker waits for running calls, in ms: a call that may be charged gets its provider's time limit.
 */
export function graceFor(call: LongestCall | undefined): number {
  return (call?.ms ?? 0) + FINISH_MS;
}

/** Problem of a SHUTDOWN_GRACE_MS that is shorter than the longest call; undefined if there is none. */
export function graceProblem(graceMs: number, call: LongestCall | undefined): string | undefined {
  if (call === undefined || call.ms <= graceMs) return undefined;
  return (
    `SHUTDOWN_GRACE_MS is ${graceMs}, and a call of ${call.provider} may take ${call.ms} ms: a worker that stops cuts it ` +
    `off, though it may be paid for; give workers ${graceFor(call)}, and 10 s more until they are killed`
  );
}
