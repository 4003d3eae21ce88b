import { IsInt, Max, Min } from 'class-validator';
import { Setting } from '#config/setting.js';

export class UploadsConfig {
  @Setting('UPLOAD_RETENTION_HOURS', 'How long an image sent to /v1/uploads/images can be named in requests.', {
    unit: 'h',
  })
  @IsInt()
  @Min(1)
  @Max(8_760)
  readonly retentionHours: number = 72;
}
