import { Injectable } from '@nestjs/common';
import { adaptationsFor, type RequestedImage } from '#catalog/adaptations.js';
import { hasEnded, type Catalog, type ModelEntry } from '#catalog/catalog.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { LimitsConfig } from '../../limits/limits.config.js';
import { modelViewOf } from '../../models/model-view-of.js';
import type { PlaygroundModelView } from './dto/playground-views.dto.js';

/** A generation that requests nothing in particular. */
const PLAIN: RequestedImage = {
  action: 'generation',
  pixels: null,
  quality: null,
  moderation: null,
  inputFidelity: null,
  background: null,
  images: 0,
  mask: false,
};

/** The image models that the console offers in every account. */
@Injectable()
export class PlaygroundModels {
  constructor(
    private readonly source: CatalogSource,
    private readonly limits: LimitsConfig,
  ) {}

  list(): PlaygroundModelView[] {
    const catalog = this.source.current;
    const { submitsPerMinute, chatsPerMinute } = this.limits;
    const now = new Date();
    const terms = { submitsPerMinute, chatsPerMinute, pixelSizes: true };
    return [...catalog.models.values()]
      .filter(({ kind, end }) => kind === 'image' && !hasEnded(end, now))
      .map((model) => ({ ...modelViewOf(model, catalog, terms, now), ...traitsOf(model, catalog) }));
  }
}

/** Something that a route may do unchanged, and the field that asks for it. */
const TRAITS = {
  transparency: ['background', { background: 'transparent' }],
  frames: ['frame_count', { frameCount: 2 }],
} as const;

function traitsOf({ ranks, accepts }: ModelEntry, { providers }: Catalog) {
  const routes = ranks.flat().map((route) => ({ route, provider: providers.get(route.provider) }));
  const can = (trait: keyof typeof TRAITS): boolean => {
    const [param, asks] = TRAITS[trait];
    return routes.some(({ route, provider }) =>
      adaptationsFor(route, provider, { ...PLAIN, ...asks }).every((found) => found.param !== param),
    );
  };
  return {
    sandbox: routes.every(({ provider }) => provider?.type === 'sandbox'),
    transparency: can('transparency'),
    frames: accepts.outputFormats.includes('gif') && can('frames'),
  };
}
