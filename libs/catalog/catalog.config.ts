import { IsOptional, IsString } from 'class-validator';
import { Setting } from '#config/setting.js';

/** Where models, providers, and prices are read from. */
export class CatalogConfig {
  @Setting(
    'MODELS_FILE',
    'Catalog of models and providers (docs/providers.md); unset = OpenAI if OPENAI_API_KEY is set, otherwise the sandbox.',
    { who: 'start', unit: 'path' },
  )
  @IsOptional()
  @IsString()
  readonly modelsFile?: string;
}
