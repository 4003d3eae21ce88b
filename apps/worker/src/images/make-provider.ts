import type { Catalog, EntryProblem } from '#catalog/catalog.js';
import { DESCRIPTORS } from '#providers/descriptors.js';
import type { AdapterParts, MakeAdapter } from '#providers/provider-descriptor.js';
import type { MakeProvider } from './provider-registry.js';

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

/** What keeps adapters from being made of a catalog's entries. */
export function adapterProblems(catalog: Catalog, make: MakeProvider): EntryProblem[] {
  return [...catalog.providers.values()].flatMap((entry) => {
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
