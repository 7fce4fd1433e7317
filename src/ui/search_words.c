/* SPDX-License-Identifier: MIT */
/* Called by help_search(), on the only thread; allocates nothing. The user's words are only
 * compared. Nothing fails. */
#include "ui/search_words.h"

#include <ctype.h>
#include <string.h>

/* English endings, each before those that it ends with: the first that fits is cut off.
 * "recordings" becomes "record", and not "recording". */
static const char *const endings[] = { "ings", "ing", "est", "ers", "er", "ed", "es", "s" };
/* Words that stand in every question, and would find every row. */
static const char *const common[] = {
	"a", "all", "an", "and", "are", "at", "be", "by", "can", "did", "do", "does", "for", "from",
	"get", "has", "have", "how", "i", "in", "is", "it", "its", "me", "much", "my", "of", "on",
	"or", "program", "see", "show", "that", "the", "there", "to", "want", "was", "what", "when",
	"where", "which", "who", "why", "will", "with", "you",
};

/* The casts: isalnum() and tolower() of a negative char, as bytes of UTF-8 are, are undefined. */
static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The next word from *at on, and its length; 0: there is none. */
static size_t next_word(const char **at)
{
	size_t n = 0;

	while (**at && !in_word(**at))
		(*at)++;
	while (in_word((*at)[n]))
		n++;
	return n;
}

static bool is_common(const char *word)
{
	for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++)
		if (!strcmp(common[i], word))
			return true;
	return false;
}

/* Cuts an ending off where three letters stay. Fewer than three letters would be the beginning of
 * too many words. One ending is cut, not all that might stand one behind the other. */
static void cut_ending(char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t k = strlen(endings[i]);

		if (n >= k + 3 && !strcmp(word + n - k, endings[i])) {
			word[n - k] = 0;
			return;
		}
	}
}

/* The caller has seen that there is room. A word that is too long is compared by its beginning. */
static void add_word(struct search_words *w, const char *word, size_t n, bool also_common)
{
	char *whole = w->whole[w->n], *stem = w->at[w->n];

	if (n >= SEARCH_WORD_MAX)
		n = SEARCH_WORD_MAX - 1;
	for (size_t i = 0; i < n; i++)
		whole[i] = (char)tolower((unsigned char)word[i]);
	whole[n] = 0;
	if (!also_common && is_common(whole))
		return;
	memcpy(stem, whole, n + 1);
	cut_ending(stem);
	w->n++;
}

static void read_words(struct search_words *w, char *const *texts, int n, bool also_common)
{
	for (int i = 0; i < n; i++) {
		const char *at = texts[i];

		for (size_t k; w->n < SEARCH_WORDS_MAX && (k = next_word(&at)); at += k)
			add_word(w, at, k, also_common);
	}
}

void search_words_read(struct search_words *w, char *const *texts, int n)
{
	w->n = 0;
	read_words(w, texts, n, false);
	/* A question of common words alone ("who is there") is searched by them rather than not at
	 * all. */
	if (!w->n)
		read_words(w, texts, n, true);
}

/* The word itself, the same word with another ending, or one that begins so. The figures order the
 * results, and mean nothing else: a word that is longer than the stem by more than three letters is
 * likely to be another one, and counts half. */
static double nearness(const char *whole, const char *stem, const char *at, size_t n)
{
	size_t k = strlen(stem);

	if (n == strlen(whole) && !strncasecmp(at, whole, n))
		return 1;
	if (n < k || strncasecmp(at, stem, k))
		return 0;
	return n <= k + 3 ? 0.8 : 0.4;
}

double search_words_in(const struct search_words *w, size_t i, const char *text)
{
	double best = 0;

	for (size_t n; (n = next_word(&text)); text += n) {
		double near = nearness(w->whole[i], w->at[i], text, n);

		best = near > best ? near : best;
	}
	return best;
}
