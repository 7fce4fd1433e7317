# What zsh lists when Tab is pressed behind $LINE, with the completions in $COMPLETIONS. Sourced by a zsh in a terminal of its own, as its
# .zshrc, since zsh completes nowhere else: the first line it would edit is $LINE, whose choices are listed, and that is all.
TERM=dumb PROMPT= LISTMAX=0
stty cols 200 rows 200
fpath=($COMPLETIONS $fpath)
autoload -U compinit
compinit -u -D
zmodload zsh/zle
unset zle_bracketed_paste
setopt auto_list no_list_ambiguous no_beep no_prompt_sp no_prompt_cr
zle-line-init() {
	BUFFER=$LINE CURSOR=$#LINE
	zle list-choices
	zle -R
	exit
}
zle -N zle-line-init
