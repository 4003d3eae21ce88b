import { IsIn, IsOptional, IsString, Matches } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

/** What happens to an order that the guardrail can't check. */
type Unchecked = 'refuse' | 'accept';

/** The guardrail that checks orders before they are bought, and what happens while it fails. */
export class GuardrailConfig {
  @Setting(
    'GUARDRAIL_URL',
    'Guardrail that checks prompts, images, and chats before a provider gets them, in LiteLLM’s generic guardrail API; ' +
      '/beta/litellm_basic_guardrail_api is appended if missing; unset = no checks.',
    { who: 'rules', unit: 'URL' },
  )
  @IsOptional()
  @Matches(/^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/, {
    message: 'GUARDRAIL_URL must look like https://guardrail.internal:8443/path, without a user, query, or fragment',
  })
  readonly url?: string;

  @Setting('GUARDRAIL_KEY', 'Sent to the guardrail in the header x-api-key.', { who: 'rules', secret: true })
  @IsOptional()
  @IsString()
  @Matches(/^[\x21-\x7e]+$/, { message: 'GUARDRAIL_KEY must be printable ASCII characters without spaces' })
  readonly key?: string;

  @Setting('GUARDRAIL_TIMEOUT_MS', 'Time limit for the guardrail to answer, with the wait for its turn.', {
    who: 'rules',
    unit: 'ms',
  })
  @Within(100, 60_000)
  readonly timeoutMs: number = 5_000;

  @Setting(
    'GUARDRAIL_FAILURE',
    'What happens to a request that the guardrail can’t check, because it is unreachable, slow, or answers wrongly: refuse (503) or accept.',
    { who: 'rules' },
  )
  @IsIn(['refuse', 'accept'], { message: 'GUARDRAIL_FAILURE must be refuse or accept' })
  readonly unchecked: Unchecked = 'refuse';
}
