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

  @Setting('MODELS_RELOAD_MS', 'How often a process looks for changes of MODELS_FILE and of what the console adds.', {
    unit: 'ms',
  })
  @Within(100)
  readonly reloadMs: number = 2_000;
}
