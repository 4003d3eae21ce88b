import { IsOptional, IsString } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

export class CatalogueConfig {
  @Setting(
    'MODELS_FILE',
    'Catalogue of models and providers (docs/providers.md); unset serves from OpenAI with OPENAI_API_KEY, else from the sandbox.',
    { unit: 'path' },
  )
  @IsOptional()
  @IsString()
  readonly modelsFile?: string;

  @Setting('MODELS_RELOAD_MS', 'How often MODELS_FILE is read again.', { unit: 'ms' })
  @Within(100)
  readonly reloadMs: number = 5_000;
}
