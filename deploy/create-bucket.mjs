// Creates the bucket unless it is there; the storage settings say which and where.
import { CreateBucketCommand, HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';

const { S3_ENDPOINT, S3_REGION, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_FORCE_PATH_STYLE } = process.env;

const client = new S3Client({
  ...(S3_ENDPOINT ? { endpoint: S3_ENDPOINT } : {}),
  region: S3_REGION || 'us-east-1',
  credentials: { accessKeyId: S3_ACCESS_KEY_ID ?? '', secretAccessKey: S3_SECRET_ACCESS_KEY ?? '' },
  forcePathStyle: S3_FORCE_PATH_STYLE !== 'false',
  maxAttempts: 5,
});
const options = () => ({ abortSignal: AbortSignal.timeout(15_000) });

try {
  await client.send(new HeadBucketCommand({ Bucket: S3_BUCKET }), options());
  console.log(`The bucket ${S3_BUCKET} is there.`);
} catch (error) {
  if (error.$metadata?.httpStatusCode !== 404) fail(error);
  await client.send(new CreateBucketCommand({ Bucket: S3_BUCKET }), options()).catch(fail);
  console.log(`The bucket ${S3_BUCKET} was created.`);
}

function fail(error) {
  console.error(`The bucket ${S3_BUCKET} can't be reached: ${error.name} ${error.message}`);
  process.exit(1);
}
