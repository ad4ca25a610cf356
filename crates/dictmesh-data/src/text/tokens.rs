//! From a document to its words.

use std::borrow::Cow;

/// The words of a document in order: runs of Unicode letters and digits (with their combining
/// accents), lower-cased, of at least two characters. Everything else separates, an apostrophe too:
/// "don't" gives "don".
pub fn tokens(document: &str) -> impl Iterator<Item = Cow<'_, str>> {
    document
        .split(|c: char| !(c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&c)))
        .filter(|word| word.chars().nth(1).is_some())
        .map(lower)
}

fn lower(word: &str) -> Cow<'_, str> {
    if word
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    {
        return Cow::Borrowed(word);
    }
    Cow::Owned(word.to_lowercase())
}

/// English words that carry no topic. Sorted, for the search.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "about", "above", "after", "again", "against", "ain", "all", "almost", "also", "although",
    "always", "am", "among", "an", "and", "another", "any", "anyone", "anything", "are", "aren",
    "around", "as", "at", "away", "be", "became", "because", "become", "been", "before", "being",
    "below", "between", "both", "but", "by", "can", "cannot", "could", "couldn", "did", "didn",
    "do", "does", "doesn", "doing", "don", "done", "down", "during", "each", "either", "else",
    "enough", "etc", "even", "ever", "every", "everyone", "everything", "few", "for", "from",
    "further", "get", "go", "had", "hadn", "has", "hasn", "have", "haven", "having", "he", "hence",
    "her", "here", "hers", "herself", "him", "himself", "his", "how", "however", "ie", "if", "in",
    "indeed", "instead", "into", "is", "isn", "it", "its", "itself", "just", "least", "less", "let",
    "like", "ll", "many", "may", "maybe", "me", "might", "mine", "more", "moreover", "most",
    "mostly", "much", "must", "my", "myself", "neither", "never", "nevertheless", "no", "nobody",
    "none", "nor", "not", "nothing", "now", "of", "off", "often", "on", "once", "one", "only",
    "onto", "or", "other", "others", "otherwise", "our", "ours", "ourselves", "out", "over", "own",
    "per", "perhaps", "quite", "rather", "re", "really", "same", "shall", "shan", "she", "should",
    "shouldn", "since", "so", "some", "someone", "something", "sometimes", "still", "such", "than",
    "that", "the", "their", "theirs", "them", "themselves", "then", "there", "therefore", "these",
    "they", "this", "those", "though", "through", "thus", "to", "together", "too", "toward",
    "towards", "under", "until", "up", "upon", "us", "ve", "very", "via", "was", "wasn", "we",
    "well", "were", "weren", "what", "whatever", "when", "whenever", "where", "whereas", "whether",
    "which", "while", "who", "whoever", "whole", "whom", "whose", "why", "will", "with", "within",
    "without", "won", "would", "wouldn", "yet", "you", "your", "yours", "yourself", "yourselves",
];

/// Whether a lower-case word is on the built-in list of English stop words.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(document: &str) -> Vec<String> {
        tokens(document).map(Cow::into_owned).collect()
    }

    #[test]
    fn words_are_letters_and_digits_of_every_script() {
        assert_eq!(
            all("The cat, 2 dogs & B52s!"),
            ["the", "cat", "dogs", "b52s"]
        );
        assert_eq!(
            all("Straße ÉTÉ Москва 東京"),
            ["straße", "été", "москва", "東京"]
        );
        assert_eq!(all("e\u{301}te\u{301}"), ["e\u{301}te\u{301}"]);
        assert_eq!(all("don't a-b x"), ["don"]);
        assert!(all("").is_empty() && all(" \n\t.,-").is_empty());
    }

    #[test]
    fn the_stop_words_are_sorted_tokens() {
        assert!(STOP_WORDS.is_sorted_by(|a, b| a < b));
        assert!(STOP_WORDS.iter().all(|w| all(w) == [*w]));
        assert!(is_stop_word("the") && !is_stop_word("mesh"));
    }
}
