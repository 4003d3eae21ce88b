import { IsOptional, IsString } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

/** Where models, providers, and prices are read from. */
export class CatalogConfig {
  @Setting(
    'MODELS_FILE',
    'Catalog of models and providers (docs/providers.md); unset = OpenAI if OPENAI_API_KEY is set, otherwise the sandbox.',
    { unit: 'path' },
  )
  @IsOptional()
  @IsString()
  readonly modelsFile?: string;

  @Setting('MODELS_RELOAD_MS', 'How often a process checks for changes in MODELS_FILE and in the console’s catalog.', {
    unit: 'ms',
  })
  @Within(100)
  readonly reloadMs: number = 2_000;
}
