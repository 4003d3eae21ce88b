import { loadConfig } from '#config/load-config.js';
import { StorageConfig } from './storage.config.js';

function load(env: Record<string, string>): StorageConfig {
  return loadConfig([StorageConfig] as const, env)[0];
}

describe('StorageConfig', () => {
  it('needs nothing on disk', () => {
    expect(load({})).toMatchObject({ storage: 'disk', dataDir: '.data', s3Links: 'proxy', linkTtlSeconds: 86_400 });
  });

  it('names all that S3 needs, and no value', () => {
    const problems = /S3_BUCKET must[^]*S3_ACCESS_KEY_ID must[^]*S3_SECRET_ACCESS_KEY must/;
    expect(() => load({ STORAGE: 's3' })).toThrow(problems);
    expect(() => load({ STORAGE: 's3', S3_SECRET_ACCESS_KEY: 'a secret' })).not.toThrow(/a secret/);
  });

  it('names an endpoint that is no address', () => {
    expect(() => load({ S3_ENDPOINT: 'minio:9000' })).toThrow('S3_ENDPOINT');
    expect(load({ S3_ENDPOINT: 'http://minio:9000' }).s3Endpoint).toBe('http://minio:9000');
  });
});
