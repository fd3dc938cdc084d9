"""The Streamlit side: state, the page frame, forms and panels. The only part of the package that imports streamlit."""
