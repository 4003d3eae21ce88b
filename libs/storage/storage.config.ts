import { IsBoolean, IsIn, IsOptional, IsString, Matches, ValidateBy, ValidateIf } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

/** An address of a store, whose path is a prefix of all its own. What else a URL may have would be left out. */
function isEndpoint(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return ['http:', 'https:'].includes(protocol) && [username, password, search, hash].every((part) => part === '');
}

const Endpoint = (): PropertyDecorator =>
  ValidateBy({
    name: 'endpoint',
    validator: {
      validate: isEndpoint,
      defaultMessage: () =>
        '$property must be an http or https address without the bucket, a user, a query or a fragment; keys belong in ' +
        'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY',
    },
  });

const onS3 = ValidateIf((config: StorageConfig) => config.storage === 's3');

/** Where images are stored (disk or S3), with or without thumbnails, how long they are kept, and how long links to them work. */
export class StorageConfig {
  @Setting('STORAGE', 'Where images are stored: disk or s3.', { who: 'processes' })
  @IsIn(['disk', 's3'])
  readonly storage: 'disk' | 's3' = 'disk';

  @Setting('DATA_DIR', 'Folder for all persistent data of this machine; images are in its subfolder objects.', {
    who: 'start',
    unit: 'path',
  })
  @IsString()
  readonly dataDir: string = '.data';

  @Setting('S3_ENDPOINT', 'Endpoint of the S3-compatible store; unset = AWS.', { who: 'processes', unit: 'URL' })
  @IsOptional()
  @Endpoint()
  readonly s3Endpoint?: string;

  @Setting('S3_PUBLIC_ENDPOINT', 'Public endpoint of the store, used in presigned links.', {
    who: 'processes',
    unit: 'URL',
  })
  @IsOptional()
  @Endpoint()
  readonly s3PublicEndpoint?: string;

  @Setting('S3_REGION', 'Region of the bucket.', { who: 'processes' })
  @Matches(/^[\w-]{1,64}$/, { message: 'S3_REGION must be the name of a region, such as us-east-1' })
  readonly s3Region: string = 'us-east-1';

  @Setting('S3_BUCKET', 'Bucket for the images; required if STORAGE is s3.', { who: 'processes' })
  @onS3
  @Matches(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, {
    message: 'S3_BUCKET must name a bucket, of 3 to 63 lowercase letters, digits, dots and hyphens, when STORAGE is s3',
  })
  readonly s3Bucket!: string;

  @Setting('S3_ACCESS_KEY_ID', 'Access key of the store; required if STORAGE is s3.', {
    who: 'processes',
    secret: true,
  })
  @onS3
  @Matches(/^\S+$/, { message: 'S3_ACCESS_KEY_ID must be given when STORAGE is s3' })
  readonly s3AccessKeyId!: string;

  @Setting('S3_SECRET_ACCESS_KEY', 'Secret of the access key; required if STORAGE is s3.', {
    who: 'processes',
    secret: true,
  })
  @onS3
  @Matches(/^\S+$/, { message: 'S3_SECRET_ACCESS_KEY must be given when STORAGE is s3' })
  readonly s3SecretAccessKey!: string;

  @Setting(
    'S3_FORCE_PATH_STYLE',
    'Whether to put the bucket in the path instead of the host name; most self-hosted stores require it.',
    { who: 'processes' },
  )
  @IsBoolean()
  readonly s3ForcePathStyle: boolean = true;

  @Setting('S3_LINKS', 'Who serves images stored in S3: this service (proxy) or the store itself (presigned).', {
    who: 'processes',
  })
  @IsIn(['proxy', 'presigned'])
  readonly s3Links: 'proxy' | 'presigned' = 'proxy';

  @Setting(
    'IMAGE_RETENTION_HOURS',
    'How long images, and the reference images of their requests, are kept after their task ends; links never outlive them.',
    { who: 'rules', unit: 'h' },
  )
  @Within(1)
  readonly imageRetentionHours: number = 72;

  @Setting('THUMBNAILS', 'Whether a worker creates a thumbnail of an image when the console’s lists first show it.', {
    who: 'traffic',
  })
  @IsBoolean()
  readonly thumbnails: boolean = true;

  @Setting('S3_TIMEOUT_MS', 'Time limit of one request to the store, such as sending one 5 MiB part.', {
    who: 'debugging',
    unit: 'ms',
  })
  @Within(100)
  readonly s3TimeoutMs: number = 30_000;

  /** Maximum pause while an image is read; a fixed one: a store that sends nothing for so long has lost the connection. */
  readonly s3IdleTimeoutMs: number = 15_000;

  @Setting('S3_ATTEMPTS', 'Attempts per request to the store, including the first.', { who: 'debugging' })
  @Within(1, 10)
  readonly s3Attempts: number = 3;

  @Setting(
    'S3_CONNECTIONS',
    'Maximum connections of one process to the store; links get three quarters of them, and one network a quarter of those.',
    { who: 'traffic' },
  )
  @Within(4, 4_096)
  readonly s3Connections: number = 256;

  @Setting('LINK_TTL_SECONDS', 'How long a link to an image is valid; each read of a task creates a new link.', {
    who: 'rules',
    unit: 's',
  })
  @Within(60, 604_800)
  readonly linkTtlSeconds: number = 86_400;
}

/** The store's address: without a setting, that of AWS in the region. Its own variables (AWS_ENDPOINT_URL) don't count. */
export function endpointOf({ s3Endpoint, s3Region }: StorageConfig): string {
  return s3Endpoint ?? `https://s3.${s3Region}.amazonaws.com${s3Region.startsWith('cn-') ? '.cn' : ''}`;
}
