import { IsBoolean, IsIn, IsOptional, IsString, Matches, Validate, ValidatorConstraint } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

const HOUR_MS = 3_600_000;

@ValidatorConstraint()
class PlainHttpUrl {
  validate(value: unknown): boolean {
    if (typeof value !== 'string' || !URL.canParse(value)) return false;
    const { protocol, username, password, search, hash } = new URL(value);
    return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === '';
  }

  defaultMessage(): string {
    return 'OPENAI_BASE_URL must be an http(s) URL without credentials or query, like https://api.openai.com/v1';
  }
}

/** OpenAI, or a compatible server, if no catalog file is configured. */
export class OpenAiConfig {
  @Setting('OPENAI_API_KEY', 'API key of OpenAI or a compatible server. If set, that server generates the images.', {
    who: 'start',
    secret: true,
  })
  @IsOptional()
  @IsString()
  @Matches(/^[\x21-\x7e]+$/, { message: 'OPENAI_API_KEY must be visible ASCII without spaces' })
  readonly apiKey?: string;

  @Setting('OPENAI_BASE_URL', 'Base URL of the OpenAI-compatible server, including /v1.', { who: 'start', unit: 'URL' })
  @Validate(PlainHttpUrl)
  readonly baseUrl: string = 'https://api.openai.com/v1';

  @Setting('OPENAI_ORGANIZATION', 'Organization to bill for images, if the key has several.', { who: 'provider' })
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'OPENAI_ORGANIZATION must be visible ASCII without spaces' })
  readonly organization?: string;

  @Setting('OPENAI_PROJECT', 'Project to bill for images, if the key has several.', { who: 'provider' })
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'OPENAI_PROJECT must be visible ASCII without spaces' })
  readonly project?: string;

  @Setting('OPENAI_IMAGE_MODEL', 'Name of the image model on the server; unset = the name that callers use.', {
    who: 'provider',
  })
  @IsOptional()
  @IsString()
  readonly imageModel?: string;

  @Setting('OPENAI_IMAGE_SIZES', 'Sizes the server can generate; unset = all. Other sizes are resized from these.', {
    who: 'provider',
    list: true,
    unit: 'list of <w>x<h>',
  })
  @Matches(/^[1-9]\d{1,4}x[1-9]\d{1,4}$/, { each: true, message: 'OPENAI_IMAGE_SIZES must list sizes like 1024x1024' })
  readonly imageSizes: string[] = [];

  @Setting(
    'OPENAI_STREAM',
    'Whether the server can send partial images; they are requested only when a caller asks for them.',
    { who: 'provider', unit: 'true or false' },
  )
  @IsBoolean()
  readonly stream: boolean = true;

  @Setting('OPENAI_RESPONSE_FORMAT', 'b64_json or url, for servers that require the field; OpenAI itself rejects it.', {
    who: 'provider',
  })
  @IsOptional()
  @IsIn(['b64_json', 'url'], { message: 'OPENAI_RESPONSE_FORMAT must be b64_json or url' })
  readonly responseFormat?: 'b64_json' | 'url';

  @Setting(
    'OPENAI_INTERRUPTED',
    'What happens to a task whose call may have been charged but returned no image: fail, or retry at the risk of paying twice.',
    { who: 'provider', unit: 'fail or retry' },
  )
  @IsIn(['fail', 'retry'], { message: 'OPENAI_INTERRUPTED must be fail or retry' })
  readonly interrupted: 'fail' | 'retry' = 'fail';

  /** The limits within a call are fixed; an entry of the catalog may have its own. Ten seconds cover TLS across the world. */
  readonly connectTimeoutMs: number = 10_000;

  /** From the end of the request to the response headers; without streaming, this covers the whole generation. */
  readonly firstByteTimeoutMs: number = 600_000;

  /** Maximum pause within a response; in a stream, between two partial images. */
  readonly idleTimeoutMs: number = 300_000;

  @Setting('OPENAI_TOTAL_TIMEOUT_MS', 'Time limit of one call, from connecting to the last byte.', {
    who: 'traffic',
    unit: 'ms',
  })
  @Within(50, HOUR_MS)
  readonly totalTimeoutMs: number = 840_000;
}
