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
    secret: true,
  })
  @IsOptional()
  @IsString()
  @Matches(/^[\x21-\x7e]+$/, { message: 'OPENAI_API_KEY must be visible ASCII without spaces' })
  readonly apiKey?: string;

  @Setting('OPENAI_BASE_URL', 'Base URL of the OpenAI-compatible server, including /v1.', { unit: 'URL' })
  @Validate(PlainHttpUrl)
  readonly baseUrl: string = 'https://api.openai.com/v1';

  @Setting('OPENAI_ORGANIZATION', 'Organization to bill for images, if the key has several.')
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'OPENAI_ORGANIZATION must be visible ASCII without spaces' })
  readonly organization?: string;

  @Setting('OPENAI_PROJECT', 'Project to bill for images, if the key has several.')
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'OPENAI_PROJECT must be visible ASCII without spaces' })
  readonly project?: string;

  @Setting('OPENAI_IMAGE_MODEL', 'Name of the image model on the server; unset = the name that callers use.')
  @IsOptional()
  @IsString()
  readonly imageModel?: string;

  @Setting('OPENAI_IMAGE_SIZES', 'Sizes the server can generate; unset = all. Other sizes are resized from these.', {
    list: true,
    unit: 'list of <w>x<h>',
  })
  @Matches(/^[1-9]\d{1,4}x[1-9]\d{1,4}$/, { each: true, message: 'OPENAI_IMAGE_SIZES must list sizes like 1024x1024' })
  readonly imageSizes: string[] = [];

  @Setting(
    'OPENAI_STREAM',
    'Whether the server can send partial images; they are requested only when a caller asks for them.',
    {
      unit: 'true or false',
    },
  )
  @IsBoolean()
  readonly stream: boolean = true;

  @Setting('OPENAI_RESPONSE_FORMAT', 'b64_json or url, for servers that require the field; OpenAI itself rejects it.')
  @IsOptional()
  @IsIn(['b64_json', 'url'], { message: 'OPENAI_RESPONSE_FORMAT must be b64_json or url' })
  readonly responseFormat?: 'b64_json' | 'url';

  @Setting(
    'OPENAI_INTERRUPTED',
    'What happens to a task whose call may have been charged but returned no image: fail, or retry at the risk of paying twice.',
    { unit: 'fail or retry' },
  )
  @IsIn(['fail', 'retry'], { message: 'OPENAI_INTERRUPTED must be fail or retry' })
  readonly interrupted: 'fail' | 'retry' = 'fail';

  @Setting('OPENAI_CONNECT_TIMEOUT_MS', 'Time limit for connecting to the server, including TLS.', { unit: 'ms' })
  @Within(50, HOUR_MS)
  readonly connectTimeoutMs: number = 10_000;

  @Setting(
    'OPENAI_FIRST_BYTE_TIMEOUT_MS',
    'Time limit from the end of the request to the response headers; without streaming, this covers the whole generation.',
    {
      unit: 'ms',
    },
  )
  @Within(50, HOUR_MS)
  readonly firstByteTimeoutMs: number = 600_000;

  @Setting('OPENAI_IDLE_TIMEOUT_MS', 'Maximum pause within a response; in a stream, between two partial images.', {
    unit: 'ms',
  })
  @Within(50, HOUR_MS)
  readonly idleTimeoutMs: number = 300_000;

  @Setting('OPENAI_TOTAL_TIMEOUT_MS', 'Time limit of one call, from connecting to the last byte.', { unit: 'ms' })
  @Within(50, HOUR_MS)
  readonly totalTimeoutMs: number = 840_000;
}
