import { S3Client } from '@aws-sdk/client-s3';
import type { StorageConfig } from './storage.config.js';

/** The connection to the store that the settings name; each request is bounded in time and tries. */
export function createS3Client(config: StorageConfig): S3Client {
  const sockets = { maxSockets: config.s3Connections };
  return new S3Client({
    region: config.s3Region,
    ...(config.s3Endpoint === undefined ? {} : { endpoint: config.s3Endpoint }),
    credentials: { accessKeyId: config.s3AccessKeyId, secretAccessKey: config.s3SecretAccessKey },
    forcePathStyle: config.s3ForcePathStyle,
    maxAttempts: config.s3Attempts,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: config.s3ConnectTimeoutMs,
      requestTimeout: config.s3TimeoutMs,
      throwOnRequestTimeout: true,
      // Reading has its own clock (storedStream); the socket's would cut off slow readers.
      socketTimeout: 0,
      httpAgent: sockets,
      httpsAgent: sockets,
    },
  });
}
