import { Box, Center, Group, Text } from '@mantine/core';
import type { SentImage, TaskDetail } from '../../api/types.ts';
import { StoredImage } from '../../parts/stored-image.tsx';

const SIZE = 96;

/** The reference images of a task, and its mask or markup, each with a link to the full image. */
export function SentImages({ task }: { readonly task: TaskDetail }) {
  const { reference_images: images, mask, markup } = task;
  return (
    <Group gap="md" align="flex-start">
      {images.map((image, index) => (
        <Sent
          key={index}
          image={image}
          name={images.length === 1 ? 'Reference image' : `Reference image ${index + 1}`}
        />
      ))}
      {mask !== null && <Sent image={mask} name="Mask" />}
      {markup !== null && <Sent image={markup} name="Markup" />}
    </Group>
  );
}

function Sent({ image: { url, host }, name }: { readonly image: SentImage; readonly name: string }) {
  return (
    <Box component="figure" m={0} w={SIZE}>
      {url === null ? (
        <Center className="no-image" w={SIZE} h={SIZE} fz="xs" p={4} style={{ overflowWrap: 'anywhere' }}>
          {host === null ? 'Expired' : `From ${host}`}
        </Center>
      ) : (
        <StoredImage
          url={url}
          alt={name}
          missing="Missing"
          opens={`Open ${name.toLowerCase()} in a new tab`}
          loading="lazy"
          w={SIZE}
          h={SIZE}
          radius="sm"
          fit="cover"
          className="image-ground"
        />
      )}
      <Text component="figcaption" size="xs" c="dimmed" mt={4}>
        {name}
      </Text>
    </Box>
  );
}
