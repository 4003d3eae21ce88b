import {
  editImageWithFormData,
  editImageWithJson,
  generateImage,
  generateImageAsync,
  getTask,
  uploadImage,
} from '../dist/src/orval.js';
import { address } from './address.js';
import { firstImage, MODEL, unexpected, WAIT, type Calls } from './calls.js';

export function connect(url: string, key: string): Calls {
  address.url = url;
  const options = { headers: { authorization: `Bearer ${key}` } };
  return {
    generate: async (prompt) => firstImage((await generateImage({ model: MODEL, prompt }, {}, options)).data),
    edit: async (prompt, imageUrls) => {
      const images = imageUrls.map((image_url) => ({ image_url }));
      return firstImage((await editImageWithJson({ model: MODEL, prompt, images }, {}, options)).data);
    },
    editFiles: async (prompt, images, mask) => {
      const body = { model: MODEL, prompt, image: [...images], mask };
      return firstImage((await editImageWithFormData(body, {}, options)).data);
    },
    upload: async (file) => {
      const { status, data } = await uploadImage({ file }, options);
      if (status !== 200) throw unexpected(data);
      return data.url;
    },
    poll: async (prompt) => {
      const { status, data } = await generateImageAsync({ model: MODEL, prompt }, {}, options);
      if (status !== 202) throw unexpected(data);
      for (;;) {
        const answer = await getTask(data.task_id, { wait: WAIT }, options);
        if (answer.status !== 200) throw unexpected(answer.data);
        const { status, result } = answer.data.data;
        if (status === 'completed') return { url: result?.images[0]?.url[0] };
        if (status !== 'pending') throw unexpected(answer.data);
      }
    },
  };
}
