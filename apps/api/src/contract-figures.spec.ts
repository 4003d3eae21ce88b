import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { DOWNLOAD_LIMITS } from '#egress/fetch-public-url.js';
import {
  MAX_IMAGE_PIXELS,
  MAX_MASK_BYTES,
  MAX_REMOTE_IMAGE_BYTES,
  MAX_UPLOAD_BYTES,
  MIN_IMAGE_EDGE,
} from '#images/limits.js';
import { StorageConfig } from '#storage/storage.config.js';
import { IDEMPOTENCY_KEY_HOURS } from '#tasks/intake/keyed-requests.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { ApiConfig, JSON_BODY_LIMIT, MULTIPART_BODY_LIMIT } from './common/api.config.js';
import { LimitsConfig } from './limits/limits.config.js';
import { UploadsConfig } from './common/uploads.config.js';

/** Figures of the contract that take too long to be waited for; what they do is tested with smaller ones. */
describe('settings have the figures of the contract by default:', () => {
  const [api, limits, tasks, storage, uploads, egress] = loadConfig(
    [ApiConfig, LimitsConfig, TasksConfig, StorageConfig, UploadsConfig, EgressConfig],
    {},
  );

  it.each([
    ['64 MiB of JSON', JSON_BODY_LIMIT, 67_108_864],
    ['200 MB of multipart', MULTIPART_BODY_LIMIT, 200_000_000],
    ['60 submits a minute', limits.submitsPerMinute, 60],
    ['600 polls a minute', limits.pollsPerMinute, 600],
    ['a sync wait of 100 s', api.syncWaitMs, 100_000],
    ['a whole task of 15 min', tasks.deadlineMs, 900_000],
    ['idempotency keys of 24 h', IDEMPOTENCY_KEY_HOURS, 24],
    ['links of 24 h', storage.linkTtlSeconds, 86_400],
    ['uploads of 72 h', uploads.retentionHours, 72],
    ['a ping every 15 s', api.streamPingMs, 15_000],
    ['10 s to the first byte of a remote image', egress.connectTimeoutMs, 10_000],
    ['30 s for a remote image', DOWNLOAD_LIMITS.totalTimeoutMs, 30_000],
    ['pixels in generations taken', api.allowPixelSize, true],
    ['absent response_format means both', api.defaultResponseFormat, 'both'],
    ['files of 50 MB', MAX_UPLOAD_BYTES, 50_000_000],
    ['remote images of 20 MB', MAX_REMOTE_IMAGE_BYTES, 20_000_000],
    ['masks of 4 MB', MAX_MASK_BYTES, 4_000_000],
    ['64 megapixels', MAX_IMAGE_PIXELS, 64_000_000],
    ['edges of 64 pixels', MIN_IMAGE_EDGE, 64],
  ])('%s', (_name, is, shouldBe) => {
    expect(is).toBe(shouldBe);
  });
});
