import { Text, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { lazy, Suspense } from 'react';
import { ReferenceImages } from '../../parts/reference-images.tsx';
import type { ChangeDraft, Draft } from './draft.ts';
import { REFERENCE_SHAPE, type Choices } from './settings.ts';

const MaskPainter = lazy(async () => ({ default: (await import('./mask-painter.tsx')).MaskPainter }));

/** Id of the prompt field. */
export const PROMPT_ID = 'prompt';

interface PromptFieldProps {
  readonly draft: Draft;
  readonly choices: Choices;
  readonly onChange: ChangeDraft;
}

/** The prompt and the reference images. */
export function PromptField({ draft, choices, onChange }: PromptFieldProps) {
  const { prompt, files, mask, settings } = draft;
  const [painting, painter] = useDisclosure(false);
  return (
    <>
      <Textarea
        id={PROMPT_ID}
        label="Prompt"
        placeholder="A lighthouse in the fog, film photograph"
        autosize
        minRows={4}
        maxRows={12}
        required
        maxLength={32_000}
        value={prompt}
        onChange={(event) => onChange({ prompt: event.currentTarget.value })}
      />
      {choices.mostReferences > 0 ? (
        <ReferenceImages
          files={files}
          most={choices.mostReferences}
          masked={mask !== null}
          onPaint={choices.masks ? painter.open : undefined}
          onChange={(next) =>
            onChange({
              files: next,
              ...(next[0] === files[0] ? {} : { mask: null }),
              // Otherwise, the result would be cut to a shape that was chosen without the reference.
              ...(files.length === 0 ? { settings: { ...settings, size: REFERENCE_SHAPE } } : {}),
            })
          }
        />
      ) : (
        files.length > 0 && (
          <Text size="sm" c="dimmed">
            {settings.model} takes no reference images. Yours are kept for other models.
          </Text>
        )
      )}
      {files[0] !== undefined && choices.masks && (
        <Suspense>
          <MaskPainter
            opened={painting}
            file={files[0]}
            mask={mask}
            onDone={(painted) => onChange({ mask: painted })}
            onClose={painter.close}
          />
        </Suspense>
      )}
    </>
  );
}
