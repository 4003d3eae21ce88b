import { createClient } from '../dist/src/hey-api/client/index.js';
import { editImage, generateImage, generateImageAsync, getTask, uploadImage } from '../dist/src/hey-api/index.js';
import { createClient as createFilesClient } from '../dist/src/hey-api-files/client/index.js';
import { editImage as editFiles } from '../dist/src/hey-api-files/index.js';
import { firstImage, MODEL, unexpected, WAIT, type Calls } from './calls.js';

export function connect(url: string, key: string): Calls {
  const client = createClient({ baseUrl: url, auth: key });
  const filesClient = createFilesClient({ baseUrl: url, auth: key });
  return {
    generate: async (prompt) => {
      const { data, error } = await generateImage({ client, body: { model: MODEL, prompt } });
      return firstImage(data ?? refuse(error));
    },
    edit: async (prompt, imageUrls) => {
      const images = imageUrls.map((image_url) => ({ image_url }));
      const { data, error } = await editImage({ client, body: { model: MODEL, prompt, images } });
      return firstImage(data ?? refuse(error));
    },
    editFiles: async (prompt, images, mask) => {
      const body = { model: MODEL, prompt, image: [...images], mask };
      const { data, error } = await editFiles({ client: filesClient, body });
      return firstImage(data ?? refuse(error));
    },
    upload: async (file) => {
      const { data, error } = await uploadImage({ client, body: { file } });
      return (data ?? refuse(error)).url;
    },
    poll: async (prompt) => {
      const { data, error } = await generateImageAsync({ client, body: { model: MODEL, prompt } });
      if (data === undefined || !('task_id' in data)) throw unexpected(error);
      for (;;) {
        const answer = await getTask({ client, path: { taskId: data.task_id }, query: { wait: WAIT } });
        const { status, result } = (answer.data ?? refuse(answer.error)).data;
        if (status === 'completed') return { url: result?.images[0]?.url[0] };
        if (status !== 'pending') throw unexpected(answer.data);
      }
    },
  };
}

function refuse(error: unknown): never {
  throw unexpected(error);
}
