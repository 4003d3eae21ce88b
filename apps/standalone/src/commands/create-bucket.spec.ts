import { createBucket } from './create-bucket.js';

describe('bucket', () => {
  it('says in one line that a deployment without S3 needs none', async () => {
    const lines: string[] = [];
    await expect(createBucket({ DATA_DIR: '/data' }, (line) => lines.push(line))).rejects.toThrow(
      /^Invalid settings:\n {2}- STORAGE must be s3, with S3_BUCKET and its keys: images on a disk need no bucket$/,
    );
    expect(lines).toEqual([]);
  });

  it('names each setting of S3 that is missing', async () => {
    await expect(createBucket({ STORAGE: 's3' }, () => undefined)).rejects.toThrow(
      /S3_BUCKET .*\n.*S3_ACCESS_KEY_ID .*\n.*S3_SECRET_ACCESS_KEY /,
    );
  });
});
