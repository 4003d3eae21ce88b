import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { CatalogSource } from '#catalog/catalog-source.js';
import { DESCRIPTORS } from '#providers/descriptors.js';
import type { SafetyCase } from '#providers/provider-descriptor.js';

/** Reads a provider's case against an end user. */
@Injectable()
export class ReadCase {
  constructor(
    private readonly catalog: CatalogSource,
    private readonly configs: ModuleRef,
  ) {}

  /**
   * The case, from the first of the provider's keys that has it. Throws ProviderError, or Error when no key has it, or the
   * catalog no longer has the provider.
   */
  async of(providerName: string, caseId: string, signal: AbortSignal): Promise<SafetyCase> {
    const provider = this.catalog.current.providers.get(providerName);
    const read = provider && (await DESCRIPTORS[provider.type]?.loadCases?.());
    if (provider === undefined || read === undefined) throw new Error('the catalog has no such provider with cases');
    const parts = { settings: <T extends object>(of: new () => T) => this.configs.get<T>(of, { strict: false }) };
    let failure: unknown = new Error('no key of the provider has the case');
    for (const server of provider.servers) {
      for (const key of server.keys.length === 0 ? [undefined] : server.keys) {
        try {
          const found = await read(server, key, caseId, parts, signal);
          if (found !== undefined) return found;
        } catch (error) {
          signal.throwIfAborted();
          failure = error;
        }
      }
    }
    throw failure;
  }
}
