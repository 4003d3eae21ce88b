import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { EditCatalog, type ProviderChange } from '#catalog/edit-catalog.js';
import { AppError } from '#contract/app-error.js';
import { DESCRIPTORS } from '#providers/descriptors.js';
import { ProviderOptionsError } from '#providers/provider-options.js';

/** The result of asking a provider for its models. */
export interface Connection {
  /** Model names at the provider. */
  readonly models: readonly string[];
  /** Why there is no list, with the key's label if there are several keys; null when every key worked. */
  readonly problem: string | null;
}

/** Tests a provider's address and keys before it has models, at no cost: it requests the list of models. */
@Injectable()
export class CheckConnection {
  constructor(
    private readonly edit: EditCatalog,
    private readonly configs: ModuleRef,
  ) {}

  /**
   * `name`: the stored provider whose keys are reused. Throws AppError like `EditCatalog.proposed`, and `invalid_value`
   * for options that the type does not take, such as a value that no header can carry.
   */
  async run(name: string | undefined, change: ProviderChange, signal: AbortSignal): Promise<Connection> {
    const provider = await this.edit.proposed(name, change);
    const list = await DESCRIPTORS[provider.type]?.loadModels?.();
    if (list === undefined) {
      throw new AppError('invalid_value', 'Providers of this type are tested with a model.', { param: 'entry.type' });
    }
    const parts = { settings: <T extends object>(of: new () => T) => this.configs.get<T>(of, { strict: false }) };
    const calls = provider.servers.flatMap((server) =>
      (server.keys.length === 0 ? [undefined] : server.keys).map((key) => ({ server, key })),
    );
    const models = new Set<string>();
    for (const { server, key } of calls) {
      const listed = await list(server, key, parts, signal).catch(wrongOptions);
      if ('problem' in listed) {
        const label = [server.server ?? [], key?.name ?? []].flat().join(', ');
        return {
          models: [],
          problem: calls.length === 1 || label === '' ? listed.problem : `${label}: ${listed.problem}`,
        };
      }
      for (const model of listed.models) models.add(model);
    }
    return { models: [...models], problem: null };
  }
}

function wrongOptions(error: unknown): never {
  if (!(error instanceof ProviderOptionsError)) throw error;
  throw new AppError('invalid_value', error.problems.join('; '), { param: 'entry.options' });
}
