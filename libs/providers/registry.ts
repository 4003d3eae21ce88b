import type { ImageProvider } from './image-provider.js';

/** Which provider serves which public model. */
export class ProviderRegistry {
  constructor(private readonly routes: ReadonlyMap<string, ImageProvider>) {}

  /** Throws when no provider serves the model: the API accepts only models that have one. */
  imageProvider(model: string): ImageProvider {
    const provider = this.routes.get(model);
    if (provider === undefined) throw new Error(`no provider for model ${model}`);
    return provider;
  }
}
