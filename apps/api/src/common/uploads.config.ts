import { Setting, Within } from '#config/setting.js';

/** How long uploads are kept, in hours, and how many bytes an account may store. */
export class UploadsConfig {
  @Setting('UPLOAD_RETENTION_HOURS', 'How long an image uploaded to /v1/uploads/images can be used in requests.', {
    who: 'rules',
    unit: 'h',
  })
  @Within(1, 8_760)
  readonly retentionHours: number = 72;

  @Setting(
    'UPLOADS_PER_ACCOUNT_BYTES',
    'Maximum total size of an account’s unexpired uploads and of the reference images stored with its requests; 0 = unlimited.',
    { who: 'traffic', unit: 'bytes' },
  )
  @Within(0, Number.MAX_SAFE_INTEGER)
  readonly bytesPerAccount: number = 20_000_000_000;
}
